import { eq } from 'drizzle-orm'
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
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import type { ActivityDetailRow } from './detail-row.ts'
import { type Asked, stateAfter } from './outcome.ts'
import { recordRevision } from './revisions.ts'

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
  const [before] = await tx.db
    .select({
      fetchedAt: activities.fetchedAt,
      wantedAt: activities.wantedAt,
      sampleCount: activities.sampleCount,
    })
    .from(activities)
    .where(eq(activities.activityId, activityId))
    .for('update')
  if (!before) throw new MusetteError('activity_unknown', `store, record a detail: no activity ${activityId}`)
  if (isAfter(before.fetchedAt, input)) return 'older'
  const hadSamples = (before.sampleCount ?? 0) > 0
  const replacing = samples !== undefined && (samples.count > 0 || !hadSamples)
  const packing = replacing && input.rawDocument ? startPacking(input.rawDocument) : undefined
  const { elapsedS, ...rest } = cleanRow(row)
  const after = { ...rest, ...(replacing ? { elapsedS: elapsedS ?? null, sampleCount: samples.count } : {}) }
  if (before.fetchedAt) await recordRevision(tx, { activityId, after, observedAt: requestedAt })
  await tx.db
    .update(activities)
    .set({
      ...after,
      summary: cleanJson(input.summary),
      summaryHash: input.summaryHash,
      fetchedAt: requestedAt,
      detailState: stateAfter(input, input.detailState),
      nextFetchAt: isAfter(before.wantedAt, input) ? null : input.nextFetchAt,
      fetchAttempts: input.fetchAttempts ?? 0,
      fetchError: null,
    })
    .where(eq(activities.activityId, activityId))
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

function isAfter(moment: Date | null, { requestedAt, recordedAt }: Asked): boolean {
  return moment !== null && moment > requestedAt && (!recordedAt || moment <= recordedAt)
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
