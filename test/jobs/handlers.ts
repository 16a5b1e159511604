import { readConfig } from '../../src/config/config.ts'
import {
  type HandlerContext,
  type HandlerResult,
  type Handlers,
  type Intervals,
  JOB_NAMES,
} from '../../src/jobs/catalog.ts'
import type { JobsOptions } from '../../src/jobs/jobs.ts'
import { intervalsOf } from '../../src/jobs/schedules.ts'
import { DAY } from '../../src/kit/time.ts'

/** The interval of each schedule in these tests, ms. */
export const YEAR = 365 * DAY

/**
 * Each schedule of the catalog once a year, but for those that a setting asks for. A schedule is due at a moment of its
 * interval that its id decides: within an hour some of a few accounts were due while a test ran.
 */
const EVERY_YEAR = Object.fromEntries(
  Object.entries(intervalsOf(readConfig({}))).map(([name, ms]) => [
    name,
    ms === undefined ? undefined : YEAR,
  ]),
) as Intervals

/** Short times, so that a test sees in a second what takes minutes otherwise. */
export const QUICK = {
  roles: { worker: true },
  every: EVERY_YEAR,
  concurrency: 4,
  backoff: { firstMs: 40, factor: 2, maxMs: 200 },
  closeGraceMs: 5_000,
} satisfies Partial<JobsOptions>

export type Fetch = (activityId: number, context: HandlerContext) => Promise<HandlerResult>
export type Poll = (accountId: number, context: HandlerContext) => Promise<HandlerResult>

/** Handlers of every job that do nothing unless told. */
export function handlersOf(fetch?: Fetch, poll?: Poll): Handlers {
  const idle = Object.fromEntries(
    JOB_NAMES.map((name) => [name, async () => undefined]),
  ) as unknown as Handlers
  return {
    ...idle,
    'fetch-activity': async ({ activityId }, context) => fetch?.(activityId, context),
    'poll-activities': async ({ accountId }, context) => poll?.(accountId, context),
  }
}
