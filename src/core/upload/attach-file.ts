import { hasValue } from '../../kit/floats.ts'
import { quoteName, quoteText } from '../../kit/text.ts'
import { formatDuration, SECOND } from '../../kit/time.ts'
import { readContents } from '../fit/fit-contents.ts'
import type { WholeFit } from '../fit/judge.ts'
import type { ReadFit } from '../fit/read-fit.ts'
import type { Account } from '../store/account-rows.ts'
import { findStoredSamples } from '../store/samples/stored-samples.ts'
import { acquireNamedLock } from '../store/store.ts'
import {
  type ActivityAtStart,
  findActivitiesAt,
  recordUploadSeen,
  recordUploadState,
  type Upload,
} from '../store/uploads/uploads.ts'
import { normalizeRecords } from './fit-record-rows.ts'
import { keepWhole, loadFit } from './keep-fit.ts'
import { distanceTo } from './match-activity.ts'
import type { UploadDeps } from './upload-deps.ts'

/** Maximum difference between the starts of file and activity: services round a start, and no rider starts twice within this time. */
export const SAME_START_MS = 5 * SECOND
/** Maximum difference in length, in s or as a share (the larger counts): a service may drop unrecorded pauses, and seconds at both ends. */
const LENGTH_WITHIN_S = 60
const LENGTH_WITHIN_SHARE = 0.02
/** Maximum difference of two equal values: heart rate in bpm and power in W, which a service may smooth; position in degrees, about 100 m. */
const [VALUE_WITHIN, PLACE_WITHIN] = [2, 0.001]
/** Minimum share of equal values in one ride: two riders of one ride share many values by chance, and sensors drop some values. */
const MIN_SAME_SHARE = 0.8
/** The service's `power` may be a trailing mean over this many seconds. */
const SMOOTHED_S = 5

export type WholeFile = { account: Account; fit: ReadFit; whole: WholeFit }

/** The activity of a file, or why there is none. `isAwaited`: a candidate is not fetched yet. `isUnknown`: no activity has the file's start. */
type Found =
  | { activity: ActivityAtStart }
  | { activity?: undefined; reason: string; isAwaited?: true; isUnknown?: true }

type Deps = Pick<UploadDeps, 'store' | 'log' | 'memory' | 'now' | 'keepFit'>

/**
 * Finds the mirrored activity that a file records: the only activity that starts within 5 s of one of the file's starts (UTC or local time),
 * has the same length within 60 s or 2 % and the same values in the same seconds, and has no other file. Waits for an activity without
 * samples. Several sports in one file are one ride. Throws the errors of the database and of reading the file.
 */
export async function findRecorded(deps: Pick<Deps, 'store' | 'memory'>, input: WholeFile): Promise<Found> {
  const { account, fit, whole } = input
  const { starts, utcOffsetS, startedAt, endedAt, timerS } = whole
  const local = starts.map((start) => new Date(start.getTime() + utcOffsetS * SECOND))
  const wanted = { accountId: account.accountId, contentId: fit.contentId, starts: [...starts, ...local] }
  const activities = await deps.store.read((tx) =>
    findActivitiesAt(tx, { ...wanted, withinMs: SAME_START_MS }),
  )
  const names = (some: readonly ActivityAtStart[]) => some.map(({ path }) => path).join(', ')
  if (activities.length === 0) return { reason: 'no activity here has its start', isUnknown: true }
  if (activities.some(({ isAwaited }) => isAwaited))
    return { reason: `activity ${names(activities)} has its start and no samples yet`, isAwaited: true }
  const elapsedS = startedAt && endedAt ? (endedAt.getTime() - startedAt.getTime()) / SECOND : timerS
  const isLong = (s: number) => isAsLong(s, elapsedS) || (timerS > 0 && isAsLong(s, timerS))
  const long = activities.filter(({ lengthsS }) => lengthsS.some(isLong))
  const length = formatDuration(elapsedS * SECOND)
  if (long.length === 0)
    return { reason: `activity ${names(activities)} has its start and does not last ${length}` }
  const same: ActivityAtStart[] = []
  for (const activity of long) {
    const isUtc = distanceTo(activity.startedAt, starts) <= SAME_START_MS
    if (await hasSameValues(deps, input, { activity, shiftS: isUtc ? 0 : utcOffsetS })) same.push(activity)
  }
  const [activity, another] = same
  if (!activity) return { reason: `activity ${names(long)} is of another device or rider: its values differ` }
  if (another) return { reason: `it may be any of the activities ${names(same)}` }
  if (activity.fileName !== null)
    return {
      reason: `activity ${quoteName(activity.path)} has the file ${quoteText(activity.fileName)} already`,
    }
  return { activity }
}

/**
 * Attaches a file to its activity, first in the ledger, then with the file's content; sends nothing. Returns the ledger row, which is
 * `attached` unless another process changed it first, and whether the content is stored. A failure to store the content is only logged.
 */
export async function attachFile(
  deps: Deps,
  input: WholeFile,
  { activityId, path: activityPath, startedAt }: ActivityAtStart,
): Promise<{ upload: Upload; isKept: boolean }> {
  const seen = seenOf(input, deps.now())
  const upload = await deps.store.transaction(async (tx) => {
    const { upload: row } = await recordUploadSeen(tx, seen)
    await acquireNamedLock(tx, 'uploads', seen.accountId)
    const activities = await findActivitiesAt(tx, { ...seen, starts: [startedAt], withinMs: 1 })
    const isFree = activities.some(
      (activity) => activity.activityId === activityId && activity.fileName === null,
    )
    const end = { activityId, activityPath, reason: null, nextTryAt: null, resendAfter: null, checks: 0 }
    const from = ['seen', 'refused', 'duplicate'] as const
    return (isFree && (await recordUploadState(tx, seen, { ...end, state: 'attached' }, { from }))) || row
  })
  if (upload.state === 'attached')
    deps.log.info({ file: seen.fileName, contentId: seen.contentId, path: activityPath }, 'file attached')
  return { upload, isKept: await keepWhole(deps, input) }
}

export function seenOf({ account, fit, whole: { startedAt, otherStarts } }: WholeFile, seenAt: Date) {
  const { contentId, name: fileName, sizeBytes } = fit
  return { accountId: account.accountId, contentId, fileName, sizeBytes, startedAt, otherStarts, seenAt }
}

function isAsLong(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(LENGTH_WITHIN_S, LENGTH_WITHIN_SHARE * Math.max(a, b))
}

/**
 * Reports whether file and activity agree in every signal that both have: heart rate, power and position. Power is `p_raw` if the activity has
 * it, otherwise the document's `power` (section "Activity detail"), of each second or smoothed.
 */
async function hasSameValues(
  deps: Pick<Deps, 'store' | 'memory'>,
  { fit }: WholeFile,
  { activity, shiftS }: { activity: ActivityAtStart; shiftS: number },
): Promise<boolean> {
  const {
    t,
    count,
    columns: there,
  } = await deps.store.read((tx) => findStoredSamples(tx, activity.activityId))
  const read = async () => normalizeRecords(readContents(await loadFit(fit)).records).columns
  const { t: times = new Float64Array(), hr, power, lat, lng } = await deps.memory(fit.sizeBytes, read)
  const rowAt = new Map([...t].map((time, row) => [Math.round(time / SECOND), row]))
  const rows = [...times].map((time) => rowAt.get(Math.round(time / SECOND) + shiftS) ?? -1)
  const pairs = (here: Float64Array | undefined, others: Float64Array): Pair[] =>
    [...(here ?? [])].map((value, row) => [value, others[rows[row] ?? -1] ?? Number.NaN])
  const agreesAs = (watts: Float64Array | undefined, others: Float64Array) =>
    // Every rider who coasts has 0 W.
    agree(
      pairs(watts, others).filter(([value, other]) => value > 0 || other > 0),
      VALUE_WITHIN,
    )
  return (
    agree(
      pairs(hr, there.hr).filter(([value, other]) => value > 0 && other > 0),
      VALUE_WITHIN,
    ) &&
    (hasValue(there.p_raw, count)
      ? agreesAs(power, there.p_raw)
      : agreesAs(power, there.power) || agreesAs(smooth(times, power), there.power)) &&
    agree(pairs(lat, there.lat), PLACE_WITHIN) &&
    agree(pairs(lng, there.lng), PLACE_WITHIN)
  )
}

/** A value of the file and a value of the activity in the same second; NaN if missing. */
type Pair = readonly [value: number, other: number]

function agree(pairs: readonly Pair[], within: number): boolean {
  const known = pairs.filter(([value, other]) => !Number.isNaN(value) && !Number.isNaN(other))
  return (
    known.filter(([value, other]) => Math.abs(value - other) <= within).length >=
    MIN_SAME_SHARE * known.length
  )
}

/** Computes the trailing mean of values at `times`, ms. */
function smooth(times: Float64Array, values: Float64Array | undefined): Float64Array | undefined {
  let [first, sum] = [0, 0]
  return values?.map((value, row) => {
    sum += value || 0
    for (; (times[row] ?? 0) - (times[first] ?? 0) >= SMOOTHED_S * SECOND; first++) sum -= values[first] || 0
    return Number.isNaN(value) ? value : sum / (row - first + 1)
  })
}
