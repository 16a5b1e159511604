import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { type Backoff, backoffMs, DAY, MINUTE } from '../../kit/time.ts'
import { SUMMARY_FIELDS } from '../fields/activity-fields.ts'
import { camelCase, columnsOf } from '../fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../fields/training-fields.ts'
import type { Account } from '../store/account-rows.ts'
import type { DerivedDetail } from '../store/activities/activity-changes.ts'
import { findMirroredPath, type WantedActivity } from '../store/activities/wanted.ts'
import { recordFetchFailure } from '../store/activities/write-activities.ts'
import { findFailingSince } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import type { TrainingInfoRow } from '../store/training-info-rows.ts'
import type { MirrorDeps } from './mirror.ts'

/** Pauses after an answer that cannot be used: the service may correct it at any time, so attempts go on, but rarely. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }
/** This many items that fail one after another with a TransientError may be an outage of the service. */
export const OUTAGE_AFTER = 5

/** Records on its row why an activity could not be fetched, and the time of the next attempt; nothing where the failure is not its own. */
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
 * Runs `work` for all items together. When it fails, it runs for each half by itself, and so on, so that one item that cannot be written
 * does not keep the others back. `giveUp` makes the results of the one that fails; of all items when the database is unreachable.
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
  return wasListed && isUnknownThere(error)
}

/** Tells whether the service answered that it does not have the object. */
export function isUnknownThere(error: unknown): boolean {
  return error instanceof RejectedError && (error.status === 404 || error.status === 410)
}

/** This many items may be missing whatever their share: a person deletes a few at a time. */
const ALWAYS_ALLOWED = 5
/** An answer about a whole resource that has less is accepted when the service has sent such answers for this long. */
const ACCEPTED_AFTER_MS = 3 * DAY
/** An activity with less is accepted at this fetch without a success between; the pauses before it are more than two days together. */
const ACCEPTED_AT_FETCH = 8

/**
 * Tells whether a list has lost so many items since the last time that it is more likely cut than true: it is empty and
 * `before` was above `emptyAllowed`, or it lacks more than five and more than a fifth.
 */
export function isShrunken(input: {
  before: number
  gone: number
  listed: number
  emptyAllowed: number
}): boolean {
  const { before, gone, listed, emptyAllowed } = input
  if (listed === 0) return before > emptyAllowed
  return gone > ALWAYS_ALLOWED && gone * 5 > before
}

/** Throws `error` unless the runs of its resource have failed with its code for three days. */
export async function assertAccepted(
  tx: Tx,
  input: { accountId: number; resource: string; now: Date; error: UnexpectedResponseError },
): Promise<void> {
  const { accountId, resource, now, error } = input
  const since = await findFailingSince(tx, { accountId, resource, errorCode: error.code })
  if (now.getTime() < (since ?? now).getTime() + ACCEPTED_AFTER_MS) throw error
}

/**
 * Finds what an answer about an activity lacks of what the mirror holds: most values of the summary, samples, or whole fields of
 * them (`lostFields`). Fewer samples are explained by a duration that is shorter, too, and none at all while they are awaited.
 * Returns undefined when it lacks nothing, and when the service has sent such answers for more than two days and this one has at
 * least some values and samples.
 */
export function poorerActivity(
  activity: WantedActivity,
  { row, samples }: Pick<DerivedDetail, 'row' | 'samples'>,
  { isAwaiting, lostFields }: { isAwaiting: boolean; lostFields: readonly string[] },
): UnexpectedResponseError | undefined {
  const { path, valueCount, sampleCount, duration } = activity
  const values = columnsOf(SUMMARY_FIELDS).filter((column) => row[column] !== null).length
  const isShorter = duration !== null && row.duration !== null && row.duration < duration
  const isExplained = samples.count === 0 ? isAwaiting : isShorter
  const lost = [
    ...(values * 2 < valueCount ? [`${valueCount - values} of its ${valueCount} values`] : []),
    ...(samples.count < sampleCount && !isExplained
      ? [`${sampleCount - samples.count} of its ${sampleCount} samples`]
      : []),
    ...(lostFields.length > 0 ? [`the fields ${lostFields.join(', ')} of its samples`] : []),
  ]
  const isEmpty = (valueCount > 0 && values === 0) || (sampleCount > 0 && samples.count === 0 && !isAwaiting)
  if (lost.length === 0 || (!isEmpty && activity.fetchAttempts + 1 >= ACCEPTED_AT_FETCH)) return undefined
  return poorer(`activity ${path}`, lost, 'it is fetched again')
}

/** The columns of parts of training info (service document, endpoint 3); an address may come and go. */
const PARTS = Object.entries(TRAINING_INFO_FIELDS)
  .filter(([column, { path }]) => path.includes('.') && column !== 'wotd_url')
  .map(([column, { path }]) => ({
    column: camelCase(column) as keyof TrainingInfoRow,
    part: path.replace(/\..*/, ''),
  }))

/** Returns the error for training info without a part that the mirror has; undefined when none is missing. */
export function poorerTrainingInfo(
  before: TrainingInfoRow | undefined,
  now: TrainingInfoRow,
): UnexpectedResponseError | undefined {
  const partsOf = (row: TrainingInfoRow | undefined) =>
    new Set(PARTS.filter(({ column }) => (row?.[column] ?? null) !== null).map(({ part }) => part))
  const sent = partsOf(now)
  const lost = [...partsOf(before)].filter((part) => !sent.has(part))
  return lost.length > 0
    ? poorer(
        'training info',
        lost,
        'they are accepted as gone when the service has left them out for three days',
      )
    : undefined
}

/** Returns the error for a workout's definition (service document, endpoint 7) without sets, where the mirror holds some. */
export function poorerDefinition(path: string): UnexpectedResponseError {
  return poorer(`workout ${path}`, ['all of its sets'], 'it is fetched again')
}

function poorer(what: string, lost: readonly string[], next: string): UnexpectedResponseError {
  return new UnexpectedResponseError(
    'poorer_answer',
    `${what}: the answer lacks ${lost.join(' and ')} that the service has sent before; the mirrored values stay, and ${next}`,
  )
}
