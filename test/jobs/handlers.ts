import type { HandlerContext, HandlerResult, Handlers } from '../../src/jobs/catalog.ts'
import type { JobsOptions } from '../../src/jobs/jobs.ts'
import { HOUR } from '../../src/kit/time.ts'

/** Short times, so that a test sees in a second what takes minutes otherwise. */
export const QUICK = {
  roles: { worker: true },
  every: {
    ...{ poll: HOUR, reconcile: HOUR, refresh: HOUR, sweep: HOUR, trainingInfo: HOUR, workouts: HOUR },
    export: undefined,
    backup: undefined,
  },
  concurrency: 4,
  backoff: { firstMs: 40, factor: 2, maxMs: 200 },
  closeGraceMs: 5_000,
} satisfies Partial<JobsOptions>

export type Fetch = (activityId: number, context: HandlerContext) => Promise<HandlerResult>
export type Poll = (accountId: number, context: HandlerContext) => Promise<HandlerResult>

/** Handlers of every job that do nothing unless told. */
export function handlersOf(fetch?: Fetch, poll?: Poll): Handlers {
  return {
    'fetch-activity': async ({ activityId }, context) => fetch?.(activityId, context),
    'poll-activities': async ({ accountId }, context) => poll?.(accountId, context),
    'reconcile-activities': async () => undefined,
    'poll-training-info': async () => undefined,
    'poll-workouts': async () => undefined,
    'refresh-token': async () => undefined,
    'settle-upload': async () => undefined,
    'export-history': async () => undefined,
    'back-up': async () => undefined,
    sweep: async () => undefined,
  }
}
