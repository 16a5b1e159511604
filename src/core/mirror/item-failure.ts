import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../../kit/errors.ts'
import { type Backoff, backoffMs, DAY, MINUTE } from '../../kit/time.ts'
import type { Account } from '../store/account-rows.ts'
import { findMirroredPath, type WantedActivity } from '../store/activities/wanted.ts'
import { recordFetchFailure } from '../store/activities/write-activities.ts'
import type { MirrorDeps } from './mirror.ts'

/** Pauses after an answer that cannot be used: the service may correct it at any time, so attempts go on, but rarely. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }
/** This many items that fail one after another with a TransientError may be an outage of the service. */
export const OUTAGE_AFTER = 5

/**
 * Records on its row why an activity could not be fetched, and the time of the next attempt; nothing where the failure is
 * not its own.
 */
export async function recordFailure(
  deps: MirrorDeps,
  input: { activity: WantedActivity; requestedAt: Date; error: unknown },
): Promise<void> {
  const { activity, error, requestedAt } = input
  if (!isItemFailure(error)) return
  const attempts = activity.fetchAttempts + 1
  const nextFetchAt = new Date(requestedAt.getTime() + backoffMs(FAILURE_BACKOFF, attempts))
  await deps.store.transaction((tx) =>
    recordFetchFailure(tx, {
      activityId: activity.activityId,
      requestedAt,
      recordedAt: deps.now(),
      error: errorLine(error),
      nextFetchAt,
      attempts,
    }),
  )
}

/**
 * Tells whether a failure may belong to one item (an activity, a workout), so that it is recorded on that item's row and the
 * others go on: an answer that cannot be used or is cut, a 5xx (the service gives one for single valid objects), or a row that
 * cannot be written. Outages, rate limits and lost logins concern every item.
 */
export function isItemFailure(error: unknown): boolean {
  if (error instanceof TransientError) return error.code === 'server_error' || error.code === 'cut_answer'
  return !(
    error instanceof RateLimitedError ||
    error instanceof CredentialsRejectedError ||
    error instanceof ConfigError
  )
}

/**
 * Runs `work` for all items together. When it fails, it runs for each half by itself, and so on, so that one item that cannot be
 * written does not keep the others back. `giveUp` makes the results of the one that fails; of all items when the database is
 * unreachable.
 */
export async function inHalves<T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<R[]>,
  giveUp: (items: readonly T[], error: unknown) => Promise<R[]>,
): Promise<R[]> {
  if (items.length === 0) return []
  try {
    return await work(items)
  } catch (error) {
    if (items.length === 1 || isDatabaseUnreachable(error)) return giveUp(items, error)
    const half = Math.ceil(items.length / 2)
    const results = await inHalves(items.slice(0, half), work, giveUp)
    return [...results, ...(await inHalves(items.slice(half), work, giveUp))]
  }
}

/** Tells whether a failure concerns every item; a busy database may refuse this one only. */
export function isDatabaseUnreachable(error: unknown): boolean {
  return error instanceof TransientError && error.code !== 'database_busy'
}

/**
 * Finds out whether the service is unreachable, or fails for single objects only: requests the activity list with a window
 * of no length (service document, endpoint 9), and then an activity that could be fetched before, or where there is none, one of
 * `others` (paths; endpoint 8). Throws only when the signal aborts.
 */
export async function fetchServiceState(
  deps: Pick<MirrorDeps, 'serviceOf' | 'store' | 'now'>,
  input: { account: Account; others?: readonly string[]; signal?: AbortSignal | undefined },
): Promise<'answers' | 'outage'> {
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
  if (!(await answers(() => service.listActivities({ from: now, to: now }, signal)))) return 'outage'
  const known = await deps.store.read((tx) => findMirroredPath(tx, account.accountId))
  const paths = known === undefined ? others : [known]
  for (const path of paths) {
    if (await answers(() => service.fetchActivity(path, { samples: false }, signal))) return 'answers'
  }
  return paths.length > 0 ? 'outage' : 'answers'
}

/** Tells whether the service no longer knows an activity that it listed. An activity known from an upload only may not exist yet. */
export function isGone(activity: WantedActivity, error: unknown): boolean {
  const wasListed = activity.startedAt !== null || activity.fetchedAt !== null
  return wasListed && error instanceof RejectedError && (error.status === 404 || error.status === 410)
}
