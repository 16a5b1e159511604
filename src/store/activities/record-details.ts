import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { MusetteError } from '../../kit/errors.ts'
import { cleanJson, cleanRow } from '../clean.ts'
import { copyRows, writeMoment } from '../copy.ts'
import type { Samples } from '../samples/encode-samples.ts'
import { replaceSampleExtras, type SampleExtra } from '../samples/sample-extras.ts'
import {
  deleteSamples,
  type Intensity,
  insertPowerCurves,
  insertSamples,
  type PowerCurve,
  upsertIntensities,
} from '../samples/write-samples.ts'
import type { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { type ActivityChange, recordRevision, updateActivities } from './activity-changes.ts'
import type { AnswerKey } from './activity-outcome.ts'
import { exactStart } from './upsert-listed.ts'

/** One answer about one activity. It is dropped when it was requested before the row's own. */
export type RecordDetailInput = AnswerKey & {
  row: ActivityDetailRow
  summary: unknown
  summaryHash: string
  /** undefined: the answer had no session data; the samples and everything derived from them stay */
  samples?: Samples | undefined
  sampleExtras?: readonly SampleExtra[] | undefined
  powerCurve?: PowerCurve | undefined
  intensity?: Intensity | undefined
  rawDocument?: PackedDocument | undefined
  detailState: 'mirrored' | 'awaiting_samples'
  nextFetchAt: Date | null
  /** fetches since the last complete one; 0 by default */
  fetchAttempts?: number
}

/** `older`: the row holds an answer that was requested later, and nothing was written. */
export type Recorded = 'recorded' | 'older'

/**
 * Records details of different activities (service document, "Activity detail") with their samples, power curves, raw
 * documents and revisions, all in the transaction of `tx`; several together cost much less than one at a time. A change that
 * was listed after `requestedAt` keeps an activity wanted. An answer without samples does not delete existing ones. Throws
 * MusetteError `activity_unknown` for one input. For several it does not wait for a locked row, because two batches that wait
 * for each other would deadlock, and throws `activity_busy` when a row is locked or does not exist.
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
    const after = withoutKnownNames(toRow(input, replacing), fields, before.detail_fields)
    if (before.fetched) await recordRevision(tx, { activityId, after, observedAt: requestedAt })
    const samplesAt = replacing && samples.count > 0 ? { samplesAt: requestedAt } : {}
    rows.push({ activityId, ...after, ...samplesAt, detailFields: fields, ...bookkeeping(input, before) })
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

// Postgres compares the times, which it holds to the microsecond; one after `recordedAt` was written by a clock that was ahead.
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

/** Converts an answer to the columns that it changes. */
function toRow(input: RecordDetailInput, replacing: boolean): ActivityChange {
  const { elapsedS, ...rest } = cleanRow(input.row)
  if (!replacing) return rest
  return { ...rest, elapsedS: elapsedS ?? null, sampleCount: input.samples?.count ?? 0 }
}

/** The fields of a detail that the list has, too; a missing one is left out. */
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

/** Leaves out a name or description that equals the last detail's: the row may hold a later one from the list. */
function withoutKnownNames(
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

/** Makes the columns about the fetch. An activity that was listed meanwhile keeps its next fetch: the answer may be older. */
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
  // Samples are only written while the row is locked, so a row that counts none has none to delete.
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
  await replaceSampleExtras(
    tx,
    replaced.map(({ activityId, sampleExtras: extras = [] }) => ({ activityId, extras })),
  )
  await replaceRawDocuments(tx, replaced)
}

function unavailable(activityId: number, together: number): MusetteError {
  const what = `store, record ${together === 1 ? 'a detail' : 'details'}`
  if (together === 1) return new MusetteError('activity_unknown', `${what}: no activity ${activityId}`)
  return new MusetteError('activity_busy', `${what}: activity ${activityId} is locked or does not exist`)
}

type Row = typeof activities.$inferSelect

/** Columns of the activity list; a detail may set them, too. */
type ListColumn = 'name' | 'description' | 'activityType' | 'startedAt' | 'timezone' | 'startedAtLocal'

/** Columns for identity and fetching, which the store writes itself. */
type OwnColumn =
  | 'activityId'
  | 'accountId'
  | 'path'
  | 'detailState'
  | 'sampleCount'
  | 'elapsedS'
  | 'samplesAt'
  | 'summary'
  | 'absentSince'
  | 'firstSeenAt'
  | 'updatedAt'
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
 * An activity's detail, one member for each column of `training.activities`; null where the service sent nothing. `elapsedS`
 * is the time from the first sample to the last, s, and is written only together with samples. Columns of the list that are
 * left out stay as they are.
 */
export type ActivityDetailRow = Readonly<
  Omit<Row, ListColumn | OwnColumn> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
>

/** Marks the accepted uploads of these activities, if there are any, as mirrored. */
export async function recordUploadsMirrored(
  tx: Tx,
  input: { activityIds: readonly number[]; mirroredAt: Date },
): Promise<void> {
  if (input.activityIds.length === 0) return
  await tx.client.query(
    `update training.uploads set state = 'mirrored', mirrored_at = $2, next_try_at = null, status_checks = 0
     where activity_id = any ($1) and state = 'accepted'`,
    [input.activityIds, input.mirroredAt],
  )
}

// Of an answer of 987 kB, level 1 makes 227 kB in 4.8 ms and level 6 makes 183 kB in 15.5 ms; brotli 1 makes 201 kB in
// 2.9 ms, but gzip is what every script can open. One chunk holds the whole result: each costs a turn of the event loop.
const GZIP = { level: 1, chunkSize: 512 * 1024 }

type PackedDocument = { sha256: string; encoding: 'gzip'; body: Buffer }

/** An answer as the service sent it, and its gzip when it was sent compressed. */
type RawDocument = { document: Buffer; gzipped?: Buffer | undefined }

/** Compresses an answer off the main thread; one that was sent compressed is kept as it is. */
export async function packDocument({ document, gzipped }: RawDocument): Promise<PackedDocument> {
  const body = gzipped ?? (await promisify(gzip)(document, GZIP))
  // Half a millisecond for 987 kB; the asynchronous function copies the answer first, which costs more.
  const sha256 = createHash('sha256').update(document).digest('hex')
  return { sha256, encoding: 'gzip', body }
}

/**
 * Replaces the raw documents of activities; one whose new answer is not kept loses the earlier answer, which its samples are no
 * longer from. By COPY, because the driver copies every parameter twice.
 */
async function replaceRawDocuments(tx: Tx, replaced: readonly Replaced[]): Promise<void> {
  if (replaced.length === 0) return
  const activityIds = replaced.map(({ activityId }) => activityId)
  await tx.client.query('DELETE FROM training.raw_documents WHERE activity_id = ANY ($1)', [activityIds])
  const documents = replaced.flatMap(({ activityId, requestedAt, rawDocument }) =>
    rawDocument ? [{ activityId, fetchedAt: requestedAt, packed: rawDocument }] : [],
  )
  if (documents.length === 0) return
  const target = 'training.raw_documents (activity_id, fetched_at, sha256, encoding, body)'
  await copyRows(tx.client, target, encodeDocuments(documents))
}

function* encodeDocuments(
  documents: ReadonlyArray<{ activityId: number; fetchedAt: Date; packed: PackedDocument }>,
): Generator<Buffer> {
  for (const { activityId, fetchedAt, packed } of documents) {
    const [id, moment] = [Buffer.alloc(4), new DataView(new ArrayBuffer(8))]
    id.writeInt32BE(activityId)
    writeMoment(moment, 0, fetchedAt.getTime())
    const { sha256, encoding, body } = packed
    const fields = [id, Buffer.from(moment.buffer), Buffer.from(sha256), Buffer.from(encoding)]
    yield Buffer.concat([
      Buffer.from([0, 5]),
      ...fields.flatMap((field) => [length(field), field]),
      length(body),
    ])
    yield body
  }
}

function length(field: Buffer): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(field.length)
  return bytes
}
