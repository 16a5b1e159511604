import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { DAY, MINUTE } from '../../kit/durations.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../../kit/errors.ts'
import { recordFetchFailure } from '../../store/activities/outcome.ts'
import type { WantedActivity } from '../../store/activities/wanted.ts'
import type { MirrorDeps } from '../account.ts'

/** Pauses after an answer that cannot be used: it heals when the service mends it, so never give up, but rarely. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }

/**
 * Records on its row why an activity could not be fetched, and when to try again; nothing where the reason is not its own.
 */
export async function recordFailure(
  deps: MirrorDeps,
  input: { activity: WantedActivity; requestedAt: Date; error: unknown },
): Promise<void> {
  const { activity, error, requestedAt } = input
  if (!isItsOwn(error)) return
  const attempts = activity.fetchAttempts + 1
  const nextFetchAt = new Date(requestedAt.getTime() + backoffMs(FAILURE_BACKOFF, attempts))
  await deps.store.transaction((tx) =>
    recordFetchFailure(tx, {
      activityId: activity.activityId,
      requestedAt,
      recordedAt: deps.now(),
      error: errorLine(error),
      nextFetchAt: isGone(activity, error) ? null : nextFetchAt,
      attempts,
    }),
  )
}

/**
 * Whether a failure may be this one activity's own, so that it is paused and the others go on: an answer that cannot be
 * used, a 5xx (seen for single objects), or a row that cannot be written. Outages, limits and logins are everybody's.
 */
function isItsOwn(error: unknown): boolean {
  if (error instanceof TransientError) return error.code === 'server_error'
  return !(
    error instanceof RateLimitedError ||
    error instanceof CredentialsRejectedError ||
    error instanceof ConfigError
  )
}

/**
 * The service has listed it and now knows no such activity: it is asked for again when a list names it, and reconcile
 * looks whether one does. One that comes from an upload may not be there yet.
 */
function isGone(activity: WantedActivity, error: unknown): boolean {
  const known = activity.startedAt !== null || activity.fetchedAt !== null
  return known && error instanceof RejectedError && (error.status === 404 || error.status === 410)
}
