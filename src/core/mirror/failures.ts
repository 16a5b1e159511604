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

/** Backoff after an unusable response. Rare retries continue without end, because the service may correct the response at any time. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }
/** Number of consecutive items that fail with a TransientError before a service outage is suspected. */
export const OUTAGE_AFTER = 5

/** Records in an activity's row why it could not be fetched and when to retry; does nothing if the failure is not the activity's own. */
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
 * Reports whether a failure may belong to one item (an activity, a workout) and is recorded in its row while the others continue: an unusable
 * or cut response, a 5xx (the service sends it for some valid objects), or a row that cannot be written. Outages, rate limits and lost logins
 * affect every item.
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
 * Runs `work` for all items together. If it fails, runs it for each half separately, and so on, so that an item that cannot be written does
 * not block the others. `giveUp` makes the results of the failing item, or of all items if the database is unreachable.
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

/** Reports whether a database failure affects every item. A busy database may refuse only the current one. */
export function isDatabaseUnreachable(error: unknown): boolean {
  return error instanceof TransientError && error.code !== 'database_busy'
}

/**
 * Finds out whether the service is down or fails only for single objects. Requests the activity list with a window of no length (service
 * document, endpoint 9), then an activity that was fetched before or, if there is none, one of `others` (paths; endpoint 8). Throws only if
 * the signal aborts.
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

/** Reports whether the service no longer knows an activity that it listed. An activity known only from an upload may not exist there yet. */
export function isGone(activity: WantedActivity, error: unknown): boolean {
  const wasListed = activity.startedAt !== null || activity.fetchedAt !== null
  return wasListed && isUnknownThere(error)
}

/** Reports whether the service answered that it does not have the object. */
export function isUnknownThere(error: unknown): boolean {
  return error instanceof RejectedError && (error.status === 404 || error.status === 410)
}

/** Number of missing items that is always accepted, whatever their share, because a person deletes a few at a time. */
const ALWAYS_ALLOWED = 5
/** How long the service must send incomplete responses about a whole resource before they are accepted. */
const ACCEPTED_AFTER_MS = 3 * DAY
/** An activity whose responses lack values is accepted at this consecutive fetch; the pauses before it exceed two days. */
const ACCEPTED_AT_FETCH = 8

/**
 * Reports whether a list lost so many items that it is probably incomplete: it is empty and `before` exceeded `emptyAllowed`, or it lacks more
 * than five items and more than a fifth of the items.
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

/** Throws `error` unless the resource's runs have failed with this code for three days. */
export async function assertAccepted(
  tx: Tx,
  input: { accountId: number; resource: string; now: Date; error: UnexpectedResponseError },
): Promise<void> {
  const { accountId, resource, now, error } = input
  const since = await findFailingSince(tx, { accountId, resource, errorCode: error.code })
  if (now.getTime() < (since ?? now).getTime() + ACCEPTED_AFTER_MS) throw error
}

/**
 * Returns an error if a response about an activity lacks most summary values, samples, or whole sample fields (`lostFields`) that the mirror
 * has. Accepts fewer samples if the duration is shorter too, and none while they are awaited. Returns undefined if no value is missing, or if
 * the service has sent such responses for more than two days and this response has some values and samples.
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
  return poorer(`activity ${path}`, lost, 'musette fetches it again')
}

/** The columns of the parts of training info (service document, endpoint 3), except the file's address, which the service may omit at times. */
const PARTS = Object.entries(TRAINING_INFO_FIELDS)
  .filter(([column, { path }]) => path.includes('.') && column !== 'wotd_url')
  .map(([column, { path }]) => ({
    column: camelCase(column) as keyof TrainingInfoRow,
    part: path.replace(/\..*/, ''),
  }))

/** Returns an error if training info lacks a part that the mirror has; undefined if nothing is missing. */
export function poorerTrainingInfo(
  before: TrainingInfoRow | undefined,
  now: TrainingInfoRow,
): UnexpectedResponseError | undefined {
  const partsOf = (row: TrainingInfoRow | undefined) =>
    new Set(PARTS.filter(({ column }) => (row?.[column] ?? null) !== null).map(({ part }) => part))
  const sent = partsOf(now)
  const lost = [...partsOf(before)].filter((part) => !sent.has(part))
  return lost.length > 0
    ? poorer('training info', lost, 'musette accepts their loss after three days without them')
    : undefined
}

/** Makes the error for a workout definition (service document, endpoint 7) without sets if the mirror has sets. */
export function poorerDefinition(path: string): UnexpectedResponseError {
  return poorer(`workout ${path}`, ['all of its sets'], 'musette fetches it again')
}

function poorer(what: string, lost: readonly string[], next: string): UnexpectedResponseError {
  return new UnexpectedResponseError(
    'poorer_answer',
    `${what}: the answer lacks ${lost.join(' and ')} that the service has sent before; the mirrored values stay, and ${next}`,
  )
}
