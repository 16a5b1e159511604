import type { Logger } from 'pino'
import type { Config, ConfigProblem } from '../../config/config.ts'
import { SECOND } from '../../kit/durations.ts'
import { sleep } from '../../kit/sleep.ts'
import { CHECKS, type Check } from './checks.ts'
import { type Finding, leftOut, problem, problemOf } from './finding.ts'
import { openPatient, type Patient } from './patient.ts'

/** A finding with the name of the check that made it. */
export type Diagnosis = Finding & { check: string }

/** Longer than starting the embedded Postgres may take, and than connecting to what does not answer. */
const CHECK_WITHIN_MS = 30 * SECOND

/**
 * Looks at everything that musette stands on, all at once, and yields what each check found, in the order of the checks.
 * No check keeps another from being made, nor takes longer than half a minute; one that goes by a variable that is wrong
 * is left out. Nothing is mended, no token is used or refreshed, and a daemon that runs goes on undisturbed.
 */
export async function* examine(
  deps: { log: Logger },
  input: { config: Config; problems: readonly ConfigProblem[] },
): AsyncGenerator<Diagnosis> {
  const { patient, close } = openPatient(deps, input)
  try {
    const looks = CHECKS.map((check) => ({ check, findings: look(check, patient) }))
    for (const { check, findings } of looks) {
      for (const finding of await findings) yield { check: check.name, ...finding }
    }
  } finally {
    await within(close(), CHECK_WITHIN_MS)
  }
}

async function look(check: Check, patient: Patient): Promise<readonly Finding[]> {
  const wrong = patient.problems.find(({ variable }) => check.goesBy.includes(variable))
  if (wrong) return [leftOut(`${wrong.name} is wrong`)]
  try {
    const findings = await within(check.look(patient), CHECK_WITHIN_MS)
    return findings ?? [problem('unreachable', `no answer within ${CHECK_WITHIN_MS / SECOND} s`)]
  } catch (error) {
    return [problemOf(error)]
  }
}

/** Waits for work, `ms` at most; undefined when it took longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const timer = new AbortController()
  work.catch(() => undefined)
  const late = sleep(ms, timer.signal).catch(() => undefined)
  try {
    return await Promise.race([work, late.then(() => undefined)])
  } finally {
    timer.abort()
  }
}
