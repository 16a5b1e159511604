import { cleanJson, cleanText } from '../clean.ts'
import { copyRows, NULL, writeDouble } from '../copy.ts'
import type { Tx } from '../store.ts'
import type { ActivitySamples } from './encode-samples.ts'

/**
 * A per-second field without a column: its first `count` values in the order of the samples' time and ordinal, NaN where a
 * sample has no number; `others` has the other values by index.
 */
export type SampleExtra = Readonly<{
  field: string
  count: number
  values: Float64Array
  others?: ReadonlyMap<number, unknown> | undefined
}>

/** The samples of one activity with its fields without a column. */
export type SamplesWithExtras = ActivitySamples & {
  readonly sampleExtras?: readonly SampleExtra[] | undefined
}

/** Writes the per-second fields without a column of activities, in place of earlier ones of activities that send any. */
export async function replaceSampleExtras(tx: Tx, activities: readonly SamplesWithExtras[]): Promise<void> {
  const sending = activities.filter(({ sampleExtras = [] }) => sampleExtras.length > 0)
  if (sending.length === 0) return
  // An activity that counts no samples may have fields without a column all the same.
  await tx.client.query('DELETE FROM training.sample_extras WHERE activity_id = ANY ($1)', [
    sending.map(({ activityId }) => activityId),
  ])
  await copyRows(
    tx.client,
    'training.sample_extras (activity_id, field, "values", others)',
    sending.flatMap((activity) => encodeSampleExtras(activity)),
  )
}

/** Encodes the fields without a column of an activity as rows of Postgres's binary COPY, in the order of their names' bytes. */
export function encodeSampleExtras({ activityId, sampleExtras = [] }: SamplesWithExtras): Buffer[] {
  const byField = new Map(sampleExtras.map((extra) => [cleanText(extra.field), extra]))
  return [...byField]
    .map(([field, extra]) => ({ name: Buffer.from(field), extra }))
    .sort((a, b) => a.name.compare(b.name))
    .map(({ name, extra }) => encodeRow(activityId, name, extra))
}

const FLOAT8_OID = 701
const JSONB_VERSION = 1
/** Of an array in binary: its length, dimensions, the flag for NULLs, the type, the number of elements, the first subscript. */
const ARRAY_HEADER = 6 * 4

/** Encodes a row of Postgres's binary COPY: an array of doubles, in which NaN is NULL, and a jsonb object. */
function encodeRow(activityId: number, name: Buffer, extra: SampleExtra): Buffer {
  const others = encodeOthers(extra)
  const known = countNumbers(extra)
  const arrayBytes = ARRAY_HEADER + extra.count * 4 + known * 8
  const buffer = Buffer.allocUnsafeSlow(2 + 8 + 4 + name.length + arrayBytes + 4 + (others?.length ?? 0))
  let at = buffer.writeInt16BE(4)
  at = buffer.writeInt32BE(4, at)
  at = buffer.writeInt32BE(activityId, at)
  at = buffer.writeInt32BE(name.length, at)
  at += name.copy(buffer, at)
  for (const part of [arrayBytes - 4, 1, known < extra.count ? 1 : 0, FLOAT8_OID, extra.count, 1])
    at = buffer.writeInt32BE(part, at)
  at = writeElements(new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength), at, extra)
  at = buffer.writeInt32BE(others?.length ?? NULL, at)
  others?.copy(buffer, at)
  return buffer
}

function writeElements(view: DataView, start: number, { values, count }: SampleExtra): number {
  let at = start
  for (let index = 0; index < count; index++) {
    at = writeDouble(view, at, values[index] as number)
  }
  return at
}

function countNumbers({ values, count }: SampleExtra): number {
  let known = 0
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) known++
  return known
}

function encodeOthers(extra: SampleExtra): Buffer | undefined {
  const others = othersOf(extra)
  return others && Buffer.concat([Buffer.from([JSONB_VERSION]), Buffer.from(JSON.stringify(others))])
}

/** What is no number, by its place in the array, which SQL counts from 1; undefined when there is nothing. */
export function othersOf({ others }: SampleExtra): Record<string, unknown> | undefined {
  if (!others || others.size === 0) return undefined
  return Object.fromEntries([...others].map(([index, value]) => [index + 1, cleanJson(value)]))
}
