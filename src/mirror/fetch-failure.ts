import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../kit/errors.ts'
import { type Backoff, backoffMs, DAY, MINUTE } from '../kit/time.ts'
import type { Account } from '../store/accounts.ts'
import { recordFetchFailure } from '../store/activities/activity-outcome.ts'
import { findMirroredPath, type WantedActivity } from '../store/activities/wanted.ts'
import type { MirrorDeps } from './mirror.ts'

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

/** So many items in a row that fail in passing may be an outage and not those items' own trouble. */
export const OUTAGE_AFTER = 5

/**
 * Asks whether the service is away, or fails only for single objects, perhaps for several in a row: requests the activity list
 * with a window of no length, and then an activity that could be fetched before, or where there is none, one of `others`
 * (paths). Throws only when the signal aborts.
 */
export async function isOutage(
  deps: Pick<MirrorDeps, 'serviceOf' | 'store' | 'now'>,
  input: { account: Account; others?: readonly string[]; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const { account, others = [], signal } = input
  const service = deps.serviceOf(account)
  const now = deps.now()
  const answers = async (request: () => Promise<unknown>): Promise<boolean> => {
    try {
      await request()
      return true
    } catch (error) {
      if (isAbort(error, signal)) throw error
      return !(error instanceof TransientError || error instanceof RateLimitedError)
    }
  }
  if (!(await answers(() => service.listActivities({ from: now, to: now }, signal)))) return true
  const known = await deps.store.read((tx) => findMirroredPath(tx, account.accountId))
  const paths = known === undefined ? others : [known]
  for (const path of paths) {
    if (await answers(() => service.fetchActivity(path, { sessionData: false }, signal))) return false
  }
  return paths.length > 0
}
