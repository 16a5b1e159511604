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
import type { SessionData } from '../../service/wire/session-data/columns.ts'
import type { Account } from '../../store/accounts.ts'
import { recordDetail } from '../../store/activities/detail.ts'
import { recordFetchFailure, recordUnchanged } from '../../store/activities/outcome.ts'
import { recordUploadMirrored } from '../../store/activities/uploaded.ts'
import type { WantedActivity } from '../../store/activities/wanted.ts'
import { recordDrift } from '../../store/drift.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'

export type FetchResult = 'fetched' | 'unchanged' | 'awaiting_samples' | 'older'

const NO_SAMPLES: SessionData = { count: 0, fields: new Map() }
/** How long after its start, or after it was first seen, an activity without samples is asked for again. */
const SAMPLES_WITHIN_MS = 7 * DAY
/** Pauses while samples are awaited: analysis takes seconds to minutes as a rule, days at times. */
const SAMPLES_BACKOFF: Backoff = { firstMs: 4 * SECOND, maxMs: 1 * DAY, factor: 2 }
/** Pauses after an answer that cannot be used: it heals when the service mends it, so never give up, but rarely. */
const FAILURE_BACKOFF: Backoff = { firstMs: 5 * MINUTE, maxMs: 1 * DAY, factor: 3 }

/**
 * Fetches one activity (service document, endpoint 8) and records it in one transaction: row, samples, power curve,
 * raw document, revision. A known activity is asked for its summary first, and for its samples only when the summary
 * has changed. What cannot be used is recorded on the row, with when to try again, and thrown.
 */
export async function fetchActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; activity: WantedActivity; signal?: AbortSignal },
): Promise<FetchResult> {
  const requestedAt = deps.now()
  try {
    if (await isUnchanged(deps, input, requestedAt)) return 'unchanged'
    return await fetchWhole(deps, options, input)
  } catch (error) {
    await recordFailure(deps, { activity: input.activity, requestedAt, error, ...signalOf(input) })
    throw error
  }
}

async function isUnchanged(
  deps: MirrorDeps,
  input: { account: Account; activity: WantedActivity; signal?: AbortSignal },
  requestedAt: Date,
): Promise<boolean> {
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

async function fetchWhole(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; activity: WantedActivity; signal?: AbortSignal },
): Promise<FetchResult> {
  const { activity } = input
  const requestedAt = deps.now()
  const answer = await deps
    .serviceOf(input.account)
    .fetchActivity(activity.path, { sessionData: true }, input.signal)
  const wire = answer.value
  const { samples, extras, drift } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  const awaiting = samples.count === 0 && isYoung(activity, requestedAt)
  const attempt = activity.fetchAttempts + 1
  const recorded = await deps.store.transaction(async (tx) => {
    const result = await recordDetail(tx, {
      activityId: activity.activityId,
      requestedAt,
      recordedAt: deps.now(),
      row: normalizeDetail(wire, samples),
      summary: wire.summary ?? {},
      summaryHash: hashSummary(wire),
      samples,
      sampleExtras: extras,
      powerCurve: normalizePowerCurve(samples),
      intensity: normalizeIntensity(samples, wire.summary?.sig?.ftp ?? null),
      rawDocument: options.keepRaw ? { document: answer.body, gzipped: answer.gzipped } : undefined,
      detailState: awaiting ? 'awaiting_samples' : 'mirrored',
      nextFetchAt: awaiting ? later(requestedAt, backoffMs(SAMPLES_BACKOFF, attempt)) : null,
      fetchAttempts: awaiting ? attempt : 0,
    })
    if (samples.count > 0)
      await recordUploadMirrored(tx, { activityId: activity.activityId, mirroredAt: deps.now() })
    // Last, because all activities share these rows: their locks are held for a moment and not through the COPY.
    await recordDrift(tx, 'activity/<id>', [...wire.drift, ...drift])
    return result
  })
  if (recorded === 'older') return 'older'
  if (samples.count > 0) await deps.upkeep.written({ replaced: activity.sampleCount })
  return awaiting ? 'awaiting_samples' : 'fetched'
}

function isYoung(activity: WantedActivity, now: Date): boolean {
  const since = Math.max(activity.startedAt?.getTime() ?? 0, activity.firstSeenAt.getTime())
  return now.getTime() - since < SAMPLES_WITHIN_MS
}

async function recordFailure(
  deps: MirrorDeps,
  input: { activity: WantedActivity; requestedAt: Date; error: unknown; signal?: AbortSignal },
): Promise<void> {
  const { activity, error, requestedAt } = input
  if (isAbort(error, input.signal) || !isItsOwn(error)) return
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

function signalOf(input: { signal?: AbortSignal }): { signal?: AbortSignal } {
  return input.signal ? { signal: input.signal } : {}
}
