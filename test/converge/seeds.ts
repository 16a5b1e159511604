import { openTestDatabase } from '../kit/postgres.ts'
import { describeFinding, runSeed } from './campaign.ts'
import type { Family } from './plan/plan.ts'
import { openRunDatabase, type RunDatabase } from './world/database.ts'

/** So many runs of each family, and those of MORE; `npm run converge` does any number. */
export const RUNS = 3
export const TIMEOUT_MS = 600_000
/** Seeds above these, each of which finds what one wrong line does that the first ones do not find: see test/promises/breaks.txt. */
const MORE: Readonly<Partial<Record<Family, number>>> = { changes: 13, faults: 15, crashes: 19 }
/** Enough to find a plan that a person can follow, and well below the test's own limit. */
const SHRINK_MS = 60_000

/** Runs the seeds of a family and returns the first finding, described; undefined when every run converges. */
export async function findDivergence(database: RunDatabase, family: Family): Promise<string | undefined> {
  const first = Array.from({ length: RUNS }, (_, index) => index + 1)
  for (const seed of [...first, MORE[family] ?? []].flat()) {
    const finding = await runSeed(database, { seed, family, shrinkMs: SHRINK_MS })
    if (finding) return describeFinding(finding)
  }
  return undefined
}

export async function openSeedDatabase(): Promise<RunDatabase> {
  const test = await openTestDatabase()
  const database = await openRunDatabase(test.url)
  return {
    ...database,
    async close() {
      await database.close()
      await test.close()
    },
  }
}
