import {
  type Catalog,
  type CoreHandlers,
  type HandlerContext,
  type HandlerResult,
  makeCoreCatalog,
} from '../../../src/core/jobs/catalog.ts'
import type { JobsOptions } from '../../../src/core/jobs/jobs.ts'
import { DAY } from '../../../src/kit/time.ts'
import { readConfig } from '../../kit/config.ts'

/** The interval of each schedule in these tests, ms. */
export const YEAR = 365 * DAY

/**
 * The jobs of core with an interval of a year, except that activities are polled every `pollEveryMs`. The id of a schedule decides when in
 * its interval it is due: with an interval of an hour some became due during a test.
 */
export function catalogOf(pollEveryMs = YEAR): Catalog {
  const core: Catalog = makeCoreCatalog(readConfig({}))
  const rare = Object.entries(core).map(([name, { schedule, ...job }]) => {
    const everyMs = name === 'poll-activities' ? pollEveryMs : YEAR
    return [name, { ...job, ...(schedule && { schedule: { ...schedule, everyMs } }) }]
  })
  return Object.fromEntries(rare)
}

/** Short times, so that a test sees in a second what otherwise takes minutes. */
export const QUICK = {
  roles: { worker: true },
  catalog: catalogOf(),
  concurrency: 4,
  backoff: { firstMs: 40, factor: 2, maxMs: 200 },
  closeGraceMs: 5_000,
} satisfies Partial<JobsOptions>

export type Fetch = (activityId: number, context: HandlerContext) => Promise<HandlerResult>
export type Poll = (accountId: number, context: HandlerContext) => Promise<HandlerResult>

/** Makes a handler for every job. Except for `fetch` and `poll`, they do nothing. */
export function handlersOf(fetch?: Fetch, poll?: Poll): CoreHandlers {
  const idle = Object.fromEntries(
    Object.keys(QUICK.catalog).map((name) => [name, async () => undefined]),
  ) as unknown as CoreHandlers
  return {
    ...idle,
    'fetch-activity': async ({ activityId }, context) => fetch?.(activityId, context),
    'poll-activities': async ({ accountId }, context) => poll?.(accountId, context),
  }
}
