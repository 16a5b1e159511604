import { isAbort } from '../kit/errors.ts'
import { type Backoff, backoffMs, DAY, SECOND } from '../kit/time.ts'
import { hashSummary, normalizeDetail } from '../normalize/activity-row.ts'
import { driftOfDate } from '../normalize/dates.ts'
import { normalizeIntensity } from '../normalize/intensity.ts'
import { normalizePowerCurve } from '../normalize/power-curve.ts'
import { normalizeSamples } from '../normalize/sample-columns.ts'
import type { Drift } from '../service/wire/lenient.ts'
import type { SessionData } from '../service/wire/wire-samples.ts'
import type { Account } from '../store/accounts.ts'
import { recordUnchanged } from '../store/activities/activity-outcome.ts'
import type { RecordDetailInput } from '../store/activities/detail.ts'
import { packDocument } from '../store/activities/raw-documents.ts'
import type { WantedActivity } from '../store/activities/wanted.ts'
import type { Samples } from '../store/samples/samples.ts'
import { recordFailure } from './fetch-failure.ts'
import type { MirrorDeps, MirrorOptions } from './mirror.ts'

export type FetchInput = { account: Account; activity: WantedActivity; signal?: AbortSignal }

/** An answer that is understood and not recorded yet. */
export type Fetched = {
  readonly activity: WantedActivity
  readonly detail: RecordDetailInput & { readonly samples: Samples }
  readonly drift: readonly Drift[]
}

const NO_SAMPLES: SessionData = { count: 0, fields: new Map() }
/** How long after its start, or after it was first seen, an activity without samples is asked for again. */
const SAMPLES_WITHIN_MS = 7 * DAY
/** Pauses while samples are awaited: analysis takes seconds to minutes as a rule, days at times. */
const SAMPLES_BACKOFF: Backoff = { firstMs: 4 * SECOND, maxMs: 1 * DAY, factor: 2 }

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

async function isUnchanged(deps: MirrorDeps, input: FetchInput, requestedAt: Date): Promise<boolean> {
  const { activity } = input
  const complete = activity.detailState === 'wanted' || activity.detailState === 'mirrored'
  if (!activity.summaryHash || activity.sampleCount === 0 || !complete) return false
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
  const { samples, extras, drift, lost } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  if (lost.values + lost.samples > 0) {
    deps.log.warn(
      { account: input.account.name, path: activity.path, ...lost, drift: drift.filter(isLoss) },
      'values and samples that no column can hold are left out',
    )
  }
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
    nextFetchAt: awaiting ? new Date(requestedAt.getTime() + backoffMs(SAMPLES_BACKOFF, attempt)) : null,
    fetchAttempts: awaiting ? attempt : 0,
  }
  const dates = driftOfDate('summary.start_date', wire.summary?.start_date)
  return { activity, detail, drift: [...wire.drift, ...dates, ...drift] }
}

function isLoss({ field, kind }: Drift): boolean {
  return kind === 'range' || field === 'session_data.unix_time'
}

function isYoung(activity: WantedActivity, now: Date): boolean {
  const since = Math.max(activity.startedAt?.getTime() ?? 0, activity.firstSeenAt.getTime())
  return now.getTime() - since < SAMPLES_WITHIN_MS
}
