import fc from 'fast-check'
import { type Family, type Plan, planOf } from './plan/plan.ts'
import { runPlan } from './plan/run.ts'
import type { RunDatabase } from './world/database.ts'

/** A plan after which the database does not equal the service, as small as it could be made. */
export type Finding = { seed: number; family: Family; plan: Plan; differences: string[]; replay: string }

/**
 * Runs the plan of one seed; when it fails, looks for the smallest plan that still does, for `shrinkMs` at most. Throws what a run
 * threw that is no difference.
 */
export async function runSeed(
  database: RunDatabase,
  input: { seed: number; family: Family; shrinkMs: number },
): Promise<Finding | undefined> {
  const { seed, family } = input
  let failed: { plan: Plan; differences: string[] } | undefined
  let deadline = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(planOf(family), async (plan) => {
    if (Date.now() > deadline) return
    const differences = await runPlan(database, plan)
    if (differences.length === 0) return
    failed = { plan, differences }
    deadline = Math.min(deadline, Date.now() + input.shrinkMs)
    throw new Error(differences[0])
  })
  // Neighbouring seeds would draw alike; a multiplication by an odd number spreads them.
  const { errorInstance } = await fc.check(property, {
    seed: Math.imul(seed, 0x9e3779b1),
    numRuns: 1,
    endOnFailure: input.shrinkMs === 0,
  })
  if (!failed && errorInstance) throw errorInstance
  return (
    failed && {
      seed,
      family,
      ...failed,
      replay: `npm run converge -- --family ${family} --seed ${seed} --runs 1`,
    }
  )
}

/** Writes a finding for a person: the differences, the plan step by step, and the command that replays it. */
export function describeFinding(finding: Finding): string {
  const { seed, family, plan, differences, replay } = finding
  return [
    `seed ${seed} of the ${family} does not converge:`,
    ...differences.slice(0, 12).map((difference) => `  - ${difference}`),
    `  the plan, with a lag of ${plan.lagMin} min:`,
    ...plan.steps.map((step) => `    ${JSON.stringify(step)}`),
    `  replay it: ${replay}`,
  ].join('\n')
}
