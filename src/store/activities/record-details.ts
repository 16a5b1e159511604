import { MusetteError } from '../../kit/errors.ts'
import { cleanJson, cleanText } from '../clean.ts'
import type { Samples } from '../samples/encode-samples.ts'
import {
  deleteSamples,
  type Intensity,
  insertPowerCurves,
  insertSampleExtras,
  insertSamples,
  type PowerCurve,
  type SampleExtra,
  upsertIntensities,
} from '../samples/write-samples.ts'
import type { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import type { AnswerKey } from './activity-outcome.ts'
import { type PackedDocument, recordRawDocuments } from './raw-documents.ts'
import { recordRevision } from './revisions.ts'
import { type ActivityChange, updateActivities } from './update-activities.ts'
import { exactStart } from './upsert-listed.ts'

/** An answer asked for earlier than the row's own is not taken. */
export type RecordDetailInput = AnswerKey & {
  row: ActivityDetailRow
  summary: unknown
  summaryHash: string
  /** undefined: the answer had no session data, and the samples stay with all that was made of them */
  samples?: Samples | undefined
  sampleExtras?: readonly SampleExtra[] | undefined
  powerCurve?: PowerCurve | undefined
  intensity?: Intensity | undefined
  rawDocument?: PackedDocument | undefined
  detailState: 'mirrored' | 'awaiting_samples'
  nextFetchAt: Date | null
  /** fetches since the last complete one; 0 unless told */
  fetchAttempts?: number
}

/** What became of an answer; `older`: the row shows one that was asked for later, and nothing was written. */
export type Recorded = 'recorded' | 'older'

/**
 * Records details of different activities (service document, "Activity detail") with their samples, power curves, raw
 * documents and revisions of what changed, all in the transaction of `tx`; several cost much less together than each by
 * itself. A change listed after `requestedAt` keeps an activity wanted. An answer without any samples does not wipe out
 * samples that are here. Throws MusetteError `activity_unknown`; for several `activity_busy`, when there is none or somebody
 * else is at it, because whoever waits with others in hand may be waited for.
 */
export async function recordDetails(tx: Tx, inputs: readonly RecordDetailInput[]): Promise<Recorded[]> {
  const known = await lockRows(tx, inputs)
  const rows: Array<ActivityChange & { activityId: number }> = []
  const replaced: Replaced[] = []
  for (const input of inputs) {
    const { activityId, requestedAt, samples } = input
    const before = known.get(activityId)
    if (!before) throw unavailable(activityId, inputs.length)
    if (before.older) continue
    const hadSamples = (before.sample_count ?? 0) > 0
    const replacing = samples !== undefined && (samples.count > 0 || !hadSamples)
    if (replacing) replaced.push({ ...input, samples, hadSamples })
    const fields = fieldsOf(cleanRow(input.row))
    const after = withoutOldWords(toRow(input, replacing), fields, before.detail_fields)
    if (before.fetched) await recordRevision(tx, { activityId, after, observedAt: requestedAt })
    rows.push({ activityId, ...after, detailFields: fields, ...bookkeeping(input, before) })
  }
  await updateActivities(tx, rows)
  await replaceContent(tx, replaced)
  return inputs.map(({ activityId }) => (known.get(activityId)?.older ? 'older' : 'recorded'))
}

type Replaced = RecordDetailInput & { samples: Samples; hadSamples: boolean }

type Before = {
  activity_id: number
  fetched: boolean
  older: boolean
  /** listed since with a change */
  wanted_since: boolean
  listed_since: boolean
  detail_fields: DetailFields | null
  sample_count: number | null
}

// Moments are compared by Postgres, which has them to the microsecond; one after `recordedAt` came of a clock ahead.
const LOCK = `
  SELECT a.activity_id, a.fetched_at IS NOT NULL AS fetched, a.sample_count, a.detail_fields,
    coalesce(a.fetched_at > asked.at AND a.fetched_at <= coalesce(asked.recorded_at, 'infinity'), false) AS older,
    coalesce(a.wanted_at > asked.at AND a.wanted_at <= coalesce(asked.recorded_at, 'infinity'), false) AS wanted_since,
    coalesce(a.listed_at > asked.at AND a.listed_at <= coalesce(asked.recorded_at, 'infinity'), false) AS listed_since
  FROM unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) AS asked (activity_id, at, recorded_at)
    JOIN training.activities a USING (activity_id)
  FOR UPDATE OF a`

async function lockRows(tx: Tx, answer: readonly AnswerKey[]): Promise<Map<number, Before>> {
  const lock = answer.length > 1 ? `${LOCK} SKIP LOCKED` : LOCK
  const { rows } = await tx.client.query<Before>(lock, [
    answer.map(({ activityId }) => activityId),
    answer.map(({ requestedAt }) => requestedAt),
    answer.map(({ recordedAt }) => recordedAt ?? null),
  ])
  return new Map(rows.map((row) => [row.activity_id, row]))
}

/** What the answer says of the activity. */
function toRow(input: RecordDetailInput, replacing: boolean): ActivityChange {
  const { elapsedS, ...rest } = cleanRow(input.row)
  if (!replacing) return rest
  return { ...rest, elapsedS: elapsedS ?? null, sampleCount: input.samples?.count ?? 0 }
}

/** What a detail says of the fields that the list has too; one that it lacks is left out. */
type DetailFields = Readonly<{
  name?: string | null
  description?: string | null
  activity_type?: string | null
  started_at?: string
}>

function fieldsOf({
  name,
  description,
  activityType,
  startedAt,
  startedAtLocal,
}: ActivityDetailRow): DetailFields {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(activityType !== undefined && { activity_type: activityType }),
    ...(startedAt && { started_at: exactStart(startedAt, startedAtLocal) }),
  }
}

/** A name or a description that is the last detail's is no news: the list may have brought a later one. */
function withoutOldWords(
  after: ActivityChange,
  { name, description }: DetailFields,
  before: DetailFields | null,
): ActivityChange {
  const { name: _name, description: _description, ...rest } = after
  return {
    ...rest,
    ...(name !== undefined && name !== before?.name && { name }),
    ...(description !== undefined && description !== before?.description && { description }),
  }
}

/** What is kept of the answer and of fetching it. What is listed meanwhile keeps its moment: the answer may be older. */
function bookkeeping(input: RecordDetailInput, before: Before): ActivityChange {
  const listedAgain = before.listed_since && input.nextFetchAt === null
  return {
    summary: cleanJson(input.summary),
    summaryHash: input.summaryHash,
    fetchedAt: input.requestedAt,
    detailState: before.wanted_since ? 'wanted' : input.detailState,
    ...(before.wanted_since ? { nextFetchAt: null } : !listedAgain && { nextFetchAt: input.nextFetchAt }),
    fetchAttempts: input.fetchAttempts ?? 0,
    fetchError: null,
  }
}

async function replaceContent(tx: Tx, replaced: readonly Replaced[]): Promise<void> {
  // The rows are locked, and samples are only ever written under that lock: none to look for where a row counts none.
  const known = replaced.filter(({ hadSamples }) => hadSamples)
  await deleteSamples(
    tx,
    known.map(({ activityId }) => activityId),
  )
  await insertSamples(tx, replaced)
  await insertPowerCurves(
    tx,
    replaced.flatMap(({ activityId, powerCurve: curve }) => (curve ? [{ activityId, curve }] : [])),
  )
  await upsertIntensities(
    tx,
    replaced.flatMap(({ activityId, intensity }) => (intensity ? [{ activityId, intensity }] : [])),
  )
  for (const { activityId, sampleExtras = [] } of replaced)
    await insertSampleExtras(tx, activityId, sampleExtras)
  await recordRawDocuments(
    tx,
    replaced.flatMap(({ activityId, requestedAt, rawDocument }) =>
      rawDocument ? [{ activityId, fetchedAt: requestedAt, packed: rawDocument }] : [],
    ),
  )
}

function cleanRow(row: ActivityDetailRow): ActivityDetailRow {
  const entries = Object.entries(row).map(([key, value]) => [
    key,
    typeof value === 'string' ? cleanText(value) : value,
  ])
  return Object.fromEntries(entries)
}

function unavailable(activityId: number, together: number): MusetteError {
  const what = `store, record ${together === 1 ? 'a detail' : 'details'}`
  if (together === 1) return new MusetteError('activity_unknown', `${what}: no activity ${activityId}`)
  return new MusetteError('activity_busy', `${what}: activity ${activityId} is not to be had now`)
}

type Row = typeof activities.$inferSelect

/** Columns that the activity list fills; a detail may name them, too. */
type ListColumn = 'name' | 'description' | 'activityType' | 'startedAt' | 'timezone' | 'startedAtLocal'

/** Columns that say who the row is and how fetching it goes; the store writes them itself. */
type OwnColumn =
  | 'activityId'
  | 'accountId'
  | 'path'
  | 'detailState'
  | 'sampleCount'
  | 'elapsedS'
  | 'summary'
  | 'absentSince'
  | 'firstSeenAt'
  | 'listedAt'
  | 'fetchedAt'
  | 'wantedAt'
  | 'summaryHash'
  | 'listFields'
  | 'detailFields'
  | 'nextFetchAt'
  | 'fetchAttempts'
  | 'fetchError'

/**
 * What an activity's detail says, one member a column of `training.activities`; null where the service sent nothing.
 * `elapsedS` is seconds from the first sample to the last, and is written only together with samples. The list's
 * columns stay as they are when left out.
 */
export type ActivityDetailRow = Readonly<
  Omit<Row, ListColumn | OwnColumn> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
>
