import type { HandlerContext, HandlerResult, Handlers } from '../../src/jobs/jobs.ts'

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
    sweep: async () => undefined,
  }
}
