import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { DAY, MINUTE, SECOND } from '../../kit/durations.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../../kit/errors.ts'
import { normalizeDetail } from '../../normalize/detail.ts'
import { normalizeIntensity } from '../../normalize/intensity.ts'
import { normalizePowerCurve } from '../../normalize/power-curve.ts'
import { normalizeSamples } from '../../normalize/samples.ts'
import { hashSummary } from '../../normalize/summary-hash.ts'
import type { Drift } from '../../service/wire/drift.ts'
import type { SessionData } from '../../service/wire/session-data/columns.ts'
import type { Account } from '../../store/accounts.ts'
import { type RecordDetailInput, recordDetails } from '../../store/activities/detail.ts'
import { recordFetchFailure, recordUnchanged } from '../../store/activities/outcome.ts'
import { recordUploadsMirrored } from '../../store/activities/uploaded.ts'
import type { WantedActivity } from '../../store/activities/wanted.ts'
import { recordDrift } from '../../store/drift.ts'
import { packDocument } from '../../store/raw-documents.ts'
import type { Samples } from '../../store/samples/samples.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'

export type FetchInput = { account: Account; activity: WantedActivity; signal?: AbortSignal }

const RESULTS = { mirrored: 'fetched', awaiting_samples: 'awaiting_samples' } as const

export type FetchResult = 'fetched' | 'unchanged' | 'awaiting_samples' | 'older'

/** An answer that is understood and not recorded yet. */
export type Fetched = {
  readonly activity: WantedActivity
  readonly detail: RecordDetailInput & { readonly samples: Samples }
  readonly drift: readonly Drift[]
}

/** How fetching an activity ended. */
export type FetchEnd = { activity: WantedActivity } & ({ result: FetchResult } | { error: unknown })

const NO_SAMPLES: SessionData = { count: 0, fields: new Map() }
/** How long after its start, or after it was first seen, an activity without samples is asked for again. */
const SAMPLES_WITHIN_MS = 7 * DAY
/** Pauses while samples are awaited: analysis takes seconds to minutes as a rule, days at times. */
const SAMPLES_BACKOFF: Backoff = { firstMs: 4 * SECOND, maxMs: 1 * DAY, factor: 2 }
/** Pauses after an answer that cannot be used: it heals when the service mends it, so never give up, but rarely. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }

/**
 * Fetches one activity and records it. What cannot be used is recorded on the row, with when to try again, and thrown.
 */
export async function fetchActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchInput,
): Promise<FetchResult> {
  const fetched = await askActivity(deps, options, input)
  if (fetched === 'unchanged') return fetched
  const [end] = await recordFetched(deps, [fetched])
  if (end && 'result' in end) return end.result
  throw end?.error
}

/**
 * Asks for one activity (service document, endpoint 8) and understands the answer; to be recorded by `recordFetched`. A
 * known activity is asked for its summary first, and for its samples only when the summary has changed. What cannot be
 * used is recorded on the row, with when to try again, and thrown.
 */
export async function askActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchInput,
): Promise<Fetched | 'unchanged'> {
  const requestedAt = deps.now()
  try {
    if (await isUnchanged(deps, input, requestedAt)) return 'unchanged'
    return await askWhole(deps, options, input)
  } catch (error) {
    if (!isAbort(error, input.signal)) await recordFailure(deps, { ...input, requestedAt, error })
    throw error
  }
}

/**
 * Records answers, each with all that is made of it and a revision of what changed, in one transaction; when that fails,
 * half of them in each of two, and so on: what cannot be written keeps nothing else back. It is recorded on its row, with
 * when to try again. Returns how each ended; in an outage of the database all alike.
 */
export async function recordFetched(deps: MirrorDeps, fetched: readonly Fetched[]): Promise<FetchEnd[]> {
  const [one, ...more] = fetched
  if (!one) return []
  try {
    return await recordTogether(deps, fetched)
  } catch (error) {
    if (more.length > 0 && !isOutage(error)) {
      const half = Math.ceil(fetched.length / 2)
      const ends = await recordFetched(deps, fetched.slice(0, half))
      return [...ends, ...(await recordFetched(deps, fetched.slice(half)))]
    }
    const failure = { activity: one.activity, requestedAt: one.detail.requestedAt, error }
    const reason = await recordFailure(deps, failure).then(
      () => error,
      (unrecorded: unknown) => unrecorded,
    )
    return fetched.map(({ activity }) => ({ activity, error: reason }))
  }
}

async function recordTogether(deps: MirrorDeps, fetched: readonly Fetched[]): Promise<FetchEnd[]> {
  const recordedAt = deps.now()
  const details = fetched.map(({ detail }) => ({ ...detail, recordedAt }))
  const filled = details.filter(({ samples }) => samples.count > 0).map(({ activityId }) => activityId)
  const recorded = await deps.store.transaction(async (tx) => {
    const results = await recordDetails(tx, details)
    await recordUploadsMirrored(tx, { activityIds: filled, mirroredAt: deps.now() })
    // Last, because all activities share these rows: their locks are held for a moment and not through the COPY.
    await recordDrift(tx, 'activity/<id>', ...fetched.map(({ drift }) => drift))
    return results
  })
  const written = fetched.filter(
    ({ detail }, index) => recorded[index] === 'recorded' && detail.samples.count > 0,
  )
  if (written.length > 0)
    await deps.upkeep.written({
      samples: sum(written, ({ detail }) => detail.samples.count),
      replaced: sum(written, ({ activity }) => activity.sampleCount),
    })
  return fetched.map(({ activity, detail }, index) => ({
    activity,
    result: recorded[index] === 'older' ? 'older' : RESULTS[detail.detailState],
  }))
}

async function isUnchanged(deps: MirrorDeps, input: FetchInput, requestedAt: Date): Promise<boolean> {
  const { activity } = input
  if (!activity.summaryHash || activity.sampleCount === 0 || activity.detailState !== 'wanted') return false
  const answer = await deps
    .serviceOf(input.account)
    .fetchActivity(activity.path, { sessionData: false }, input.signal)
  if (hashSummary(answer.value) !== activity.summaryHash) return false
  await deps.store.transaction((tx) =>
    recordUnchanged(tx, { activityId: activity.activityId, requestedAt, recordedAt: deps.now() }),
  )
  return true
}

async function askWhole(deps: MirrorDeps, options: MirrorOptions, input: FetchInput): Promise<Fetched> {
  const { activity } = input
  const requestedAt = deps.now()
  const answer = await deps
    .serviceOf(input.account)
    .fetchActivity(activity.path, { sessionData: true }, input.signal)
  const wire = answer.value
  const { samples, extras, drift } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  const awaiting = samples.count === 0 && isYoung(activity, requestedAt)
  const attempt = activity.fetchAttempts + 1
  const detail = {
    activityId: activity.activityId,
    requestedAt,
    row: normalizeDetail(wire, samples),
    summary: wire.summary ?? {},
    summaryHash: hashSummary(wire),
    samples,
    sampleExtras: extras,
    powerCurve: normalizePowerCurve(samples),
    intensity: normalizeIntensity(samples, wire.summary?.sig?.ftp ?? null),
    rawDocument: options.keepRaw
      ? await packDocument({ document: answer.body, gzipped: answer.gzipped })
      : undefined,
    detailState: awaiting ? ('awaiting_samples' as const) : ('mirrored' as const),
    nextFetchAt: awaiting ? later(requestedAt, backoffMs(SAMPLES_BACKOFF, attempt)) : null,
    fetchAttempts: awaiting ? attempt : 0,
  }
  return { activity, detail, drift: [...wire.drift, ...drift] }
}

function isYoung(activity: WantedActivity, now: Date): boolean {
  const since = Math.max(activity.startedAt?.getTime() ?? 0, activity.firstSeenAt.getTime())
  return now.getTime() - since < SAMPLES_WITHIN_MS
}

async function recordFailure(
  deps: MirrorDeps,
  input: { activity: WantedActivity; requestedAt: Date; error: unknown },
): Promise<void> {
  const { activity, error, requestedAt } = input
  if (!isItsOwn(error)) return
  const attempts = activity.fetchAttempts + 1
  await deps.store.transaction((tx) =>
    recordFetchFailure(tx, {
      activityId: activity.activityId,
      requestedAt,
      recordedAt: deps.now(),
      error: errorLine(error),
      nextFetchAt: isGone(activity, error) ? null : later(requestedAt, backoffMs(FAILURE_BACKOFF, attempts)),
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

/** Whether no answer can be recorded for now, and not one of them only. */
function isOutage(error: unknown): boolean {
  return error instanceof TransientError && error.code !== 'database_busy'
}

/**
 * The service has listed it and now knows no such activity: it is asked for again when a list names it, and reconcile
 * looks whether one does. One that comes from an upload may not be there yet.
 */
function isGone(activity: WantedActivity, error: unknown): boolean {
  const known = activity.startedAt !== null || activity.fetchedAt !== null
  return known && error instanceof RejectedError && (error.status === 404 || error.status === 410)
}

function later(moment: Date, ms: number): Date {
  return new Date(moment.getTime() + ms)
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
