import { MusetteError } from '../../kit/errors.ts'
import { cleanJson, cleanText } from '../clean.ts'
import { type PackedDocument, packDocument, type RawDocument, recordRawDocument } from '../raw-documents.ts'
import {
  insertPowerCurve,
  insertSampleExtras,
  type PowerBest,
  replacePowerCurve,
  replaceSampleExtras,
  type SampleExtra,
} from '../samples/extras.ts'
import { type Intensity, upsertIntensity } from '../samples/intensity.ts'
import { insertSamples, replaceSamples } from '../samples/replace.ts'
import type { Samples } from '../samples/samples.ts'
import type { Tx } from '../store.ts'
import type { ActivityDetailRow } from './detail-row.ts'
import type { Asked } from './outcome.ts'
import { recordRevision } from './revisions.ts'
import { updateRow } from './update-row.ts'

/** An answer asked for earlier than the row's own is not taken. */
export type RecordDetailInput = Asked & {
  row: ActivityDetailRow
  summary: unknown
  summaryHash: string
  /** undefined: the answer had no session data and the samples stay */
  samples?: Samples | undefined
  sampleExtras?: readonly SampleExtra[] | undefined
  powerCurve?: readonly PowerBest[] | undefined
  intensity?: Intensity | undefined
  rawDocument?: RawDocument | undefined
  detailState: 'mirrored' | 'awaiting_samples'
  nextFetchAt: Date | null
  /** fetches since the last complete one; 0 unless told */
  fetchAttempts?: number
}

/**
 * Records an activity's detail (service document, "Activity detail") with its samples, power curve, raw document and
 * a revision of what changed, all in the transaction of `tx`. Returns `older`, and writes nothing, when the row shows
 * an answer that was asked for later. A change listed after `requestedAt` keeps the activity wanted. An answer without
 * any samples does not wipe out samples that are here. Throws MusetteError `activity_unknown`.
 */
export async function recordDetail(tx: Tx, input: RecordDetailInput): Promise<'recorded' | 'older'> {
  const { activityId, requestedAt, row, samples } = input
  const before = await lockRow(tx, input)
  if (before.older) return 'older'
  const hadSamples = (before.sample_count ?? 0) > 0
  const replacing = samples !== undefined && (samples.count > 0 || !hadSamples)
  const packing = replacing && input.rawDocument ? startPacking(input.rawDocument) : undefined
  const { elapsedS, ...rest } = cleanRow(row)
  const after = { ...rest, ...(replacing ? { elapsedS: elapsedS ?? null, sampleCount: samples.count } : {}) }
  if (before.fetched) await recordRevision(tx, { activityId, after, observedAt: requestedAt })
  await updateRow(tx, activityId, {
    ...after,
    summary: cleanJson(input.summary),
    summaryHash: input.summaryHash,
    fetchedAt: requestedAt,
    detailState: before.listed_since ? 'wanted' : input.detailState,
    nextFetchAt: before.listed_since ? null : input.nextFetchAt,
    fetchAttempts: input.fetchAttempts ?? 0,
    fetchError: null,
  })
  if (!replacing) return 'recorded'
  // The row is locked, and samples are only ever written under that lock: none to look for when it counts none.
  const write = hadSamples ? REPLACE : INSERT
  await write.samples(tx, activityId, samples)
  if (input.sampleExtras) await write.sampleExtras(tx, activityId, input.sampleExtras)
  if (input.powerCurve) await write.powerCurve(tx, activityId, input.powerCurve)
  if (input.intensity) await upsertIntensity(tx, activityId, input.intensity)
  if (packing) await recordRawDocument(tx, { activityId, fetchedAt: requestedAt, packed: await packing })
  return 'recorded'
}

const INSERT = { samples: insertSamples, sampleExtras: insertSampleExtras, powerCurve: insertPowerCurve }
const REPLACE = { samples: replaceSamples, sampleExtras: replaceSampleExtras, powerCurve: replacePowerCurve }

type Before = { fetched: boolean; older: boolean; listed_since: boolean; sample_count: number | null }

// Moments are compared by Postgres, which has them to the microsecond; one after `recordedAt` came of a clock ahead.
const LOCK = `
  SELECT fetched_at IS NOT NULL AS fetched, sample_count,
    coalesce(fetched_at > $2 AND fetched_at <= coalesce($3, 'infinity'::timestamptz), false) AS older,
    coalesce(wanted_at > $2 AND wanted_at <= coalesce($3, 'infinity'::timestamptz), false) AS listed_since
  FROM training.activities WHERE activity_id = $1 FOR UPDATE`

async function lockRow(tx: Tx, { activityId, requestedAt, recordedAt }: Asked): Promise<Before> {
  const { rows } = await tx.client.query<Before>(LOCK, [activityId, requestedAt, recordedAt ?? null])
  const [before] = rows
  if (before) return before
  throw new MusetteError('activity_unknown', `store, record a detail: no activity ${activityId}`)
}

// Compression runs on another thread while the row and the samples are written.
function startPacking(document: RawDocument): Promise<PackedDocument> {
  const packing = packDocument(document)
  packing.catch(() => undefined)
  return packing
}

function cleanRow(row: ActivityDetailRow): ActivityDetailRow {
  const entries = Object.entries(row).map(([key, value]) => [
    key,
    typeof value === 'string' ? cleanText(value) : value,
  ])
  return Object.fromEntries(entries)
}
