import { isAbort } from '../../kit/errors.ts'
import { type Hold, withHold } from '../../kit/semaphore.ts'
import { type Backoff, backoffMs, DAY, SECOND } from '../../kit/time.ts'
import { hashSummary, normalizeActivity } from '../normalize/activity-answer.ts'
import type { Drift } from '../service/wire/lenient.ts'
import { packDocument } from '../store/activities/raw-documents.ts'
import type { WantedActivity } from '../store/activities/wanted.ts'
import {
  type AnsweredDetail,
  recordUnchanged,
  writeActivities,
} from '../store/activities/write-activities.ts'
import { recordDrift } from '../store/drift.ts'
import { findLostFields } from '../store/samples/compare-content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { recordUploadsMirrored } from '../store/uploads/uploads.ts'
import { inHalves, poorerActivity, recordFailure } from './failures.ts'
import type { MirrorDeps, MirrorInput } from './mirror.ts'
import { recordIfGone } from './reconcile-activities.ts'

/** How long an activity without samples is refetched, after its start or its first sighting. */
const SAMPLES_WITHIN_MS = 7 * DAY
/** Backoff while samples are awaited: the service's analysis takes seconds to minutes, rarely days. */
const SAMPLES_BACKOFF: Backoff = { firstMs: 4 * SECOND, maxMs: 1 * DAY, factor: 2 }

/** `hold` ends once the activity is recorded or dropped. */
export type ActivityInput = MirrorInput & { activity: WantedActivity; hold: Hold }

/** Outcome of mirroring an activity. `older`: the row already has a newer response. `absent`: the service no longer has the activity. */
type ActivityResult = 'fetched' | 'unchanged' | 'awaiting_samples' | 'older' | 'absent'

/** A normalized response that is not recorded yet. */
export type FetchedActivity = {
  readonly activity: WantedActivity
  readonly detail: AnsweredDetail & { readonly samples: Samples }
  readonly drift: readonly Drift[]
}

/** The outcome of one activity in a batch, or the error that prevented its recording. */
type RecordedActivity = { activity: WantedActivity } & ({ result: ActivityResult } | { error: unknown })

/** Fetches one activity and records the response with all derived values. Records a failure in the activity's row, and throws it. */
export async function mirrorActivity(
  deps: MirrorDeps,
  input: Omit<ActivityInput, 'hold'>,
): Promise<ActivityResult> {
  return withHold(async (hold) => {
    const fetched = await fetchActivity(deps, { ...input, hold })
    if (typeof fetched === 'string') return fetched
    const [end] = await recordActivities(deps, [fetched])
    if (end && 'result' in end) return end.result
    throw end?.error
  })
}

/**
 * Fetches one activity (service document, endpoint 8) and normalizes the response for `recordActivities`. For a known activity, fetches the
 * summary first, and the samples only if the summary changed. Records an activity as absent if neither the service nor its list has it.
 * Records a failure of the activity in its row, with the time of the next attempt, and throws it.
 */
export async function fetchActivity(
  deps: MirrorDeps,
  input: ActivityInput,
): Promise<FetchedActivity | 'unchanged' | 'absent'> {
  const requestedAt = deps.now()
  try {
    if (await recordIfUnchanged(deps, input, requestedAt)) return 'unchanged'
    const fetched = await fetchWhole(deps, input)
    await assertNotPoorer(deps, fetched)
    return fetched
  } catch (error) {
    if (isAbort(error, input.signal)) throw error
    if (await recordIfGone(deps, { ...input, error })) return 'absent'
    await recordFailure(deps, { ...input, requestedAt, error })
    throw error
  }
}

/**
 * Records fetched activities in one transaction: row, samples, curve, raw document, and a revision of the changes. If that fails, records each
 * half in its own transaction, and so on, so that an activity that cannot be written does not block the others. Records each failure in the
 * activity's row, with the time of the next attempt. Returns each outcome; if the database is unreachable, all have the same error.
 */
export async function recordActivities(
  deps: MirrorDeps,
  fetched: readonly FetchedActivity[],
): Promise<RecordedActivity[]> {
  return inHalves(
    fetched,
    (part) => recordBatch(deps, part),
    async (part, error) => {
      const [first] = part
      const failure = first && { activity: first.activity, requestedAt: first.detail.requestedAt, error }
      const reason = await (failure ? recordFailure(deps, failure) : Promise.resolve()).then(
        () => error,
        (unrecorded: unknown) => unrecorded,
      )
      return part.map(({ activity }) => ({ activity, error: reason }))
    },
  )
}

async function recordIfUnchanged(
  deps: MirrorDeps,
  { account, activity, signal }: ActivityInput,
  requestedAt: Date,
): Promise<boolean> {
  const isComplete = activity.detailState === 'wanted' || activity.detailState === 'mirrored'
  if (!activity.summaryHash || activity.sampleCount === 0 || !isComplete) return false
  const { path, activityId } = activity
  const answer = await deps.serviceOf(account).fetchActivity(path, { samples: false }, signal)
  if (hashSummary(answer.value) !== activity.summaryHash) return false
  await deps.store.transaction((tx) =>
    recordUnchanged(tx, { activityId, requestedAt, recordedAt: deps.now() }),
  )
  return true
}

/** Throws UnexpectedResponseError `poorer_answer` if the response lacks mirrored values, see poorerActivity. */
export async function assertNotPoorer(deps: MirrorDeps, { activity, detail }: FetchedActivity) {
  const isComparable = activity.sampleCount > 0 && detail.samples.count > 0
  const poorer = poorerActivity(activity, detail, {
    isAwaiting: detail.detailState === 'awaiting_samples',
    lostFields: isComparable ? await deps.store.read((tx) => findLostFields(tx, detail)) : [],
  })
  if (poorer) throw poorer
}

/** Fetches one activity with its samples (service document, endpoint 8) and normalizes the response; records nothing. */
export async function fetchWhole(
  deps: MirrorDeps,
  { account, activity, hold, signal }: ActivityInput,
): Promise<FetchedActivity> {
  const requestedAt = deps.now()
  const { path } = activity
  const answer = await deps.serviceOf(account).fetchActivity(path, { samples: true, hold }, signal)
  const { derived, drift, lost } = normalizeActivity(answer.value)
  if (lost.values + lost.samples > 0) {
    const losses = drift.filter(({ field, kind }) => kind === 'range' || field === 'session_data.unix_time')
    deps.log.warn(
      { account: account.name, path, ...lost, drift: losses },
      'left out values and samples that no column can hold',
    )
  }
  const isAwaiting = derived.samples.count === 0 && isYoung(activity, requestedAt)
  const attempt = activity.fetchAttempts + 1
  const detail = {
    ...derived,
    activityId: activity.activityId,
    requestedAt,
    rawDocument: deps.options.keepRaw ? await packDocument(answer.body, answer.gzipped) : undefined,
    detailState: isAwaiting ? ('awaiting_samples' as const) : ('mirrored' as const),
    nextFetchAt: isAwaiting ? new Date(requestedAt.getTime() + backoffMs(SAMPLES_BACKOFF, attempt)) : null,
    fetchAttempts: isAwaiting ? attempt : 0,
  }
  return { activity, detail, drift }
}

function isYoung({ startedAt, firstSeenAt }: WantedActivity, now: Date): boolean {
  // Counting from a start that is years ahead would mean waiting for years.
  const since = startedAt !== null && startedAt <= now && startedAt > firstSeenAt ? startedAt : firstSeenAt
  return now.getTime() - since.getTime() < SAMPLES_WITHIN_MS
}

async function recordBatch(
  deps: MirrorDeps,
  fetched: readonly FetchedActivity[],
): Promise<RecordedActivity[]> {
  const recordedAt = deps.now()
  const details = fetched.map(({ detail }) => ({ ...detail, recordedAt }))
  const withSamples = details.filter(({ samples }) => samples.count > 0).map(({ activityId }) => activityId)
  const recorded = await deps.store.transaction(async (tx) => {
    const results = await writeActivities(tx, details)
    await recordUploadsMirrored(tx, { activityIds: withSamples, mirroredAt: deps.now() })
    // Drift comes last: all activities share its rows, so their locks must not be held during COPY.
    await recordDrift(tx, 'activity/<id>', ...fetched.map(({ drift }) => drift))
    return results
  })
  await deps.vacuum.afterWrite(recorded)
  return fetched.map(({ activity, detail }, index) => {
    if (recorded[index]?.result === 'older') return { activity, result: 'older' }
    return { activity, result: detail.detailState === 'mirrored' ? 'fetched' : 'awaiting_samples' }
  })
}
