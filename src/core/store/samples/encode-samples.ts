import { fitsFloat4, fitsTimestamp, hasValue } from '../../../kit/floats.ts'
import { SAMPLE_VALUE_FIELDS, type SampleField } from '../../fields/sample-fields.ts'
import { cleanJson, cleanText } from '../clean.ts'
import { microsOf, NULL, writeDouble, writeInteger, writeMoment, writeNull } from '../copy.ts'

/** The columns of `training.samples` with measured values. */
export const SAMPLE_FIELDS = Object.keys(SAMPLE_VALUE_FIELDS) as SampleField[]

/** An activity's samples by column. `t` is ms since 1970; NaN stands for NULL. The arrays may be longer than `count`. */
export type Samples = {
  readonly count: number
  readonly t: Float64Array
  readonly columns: Readonly<Record<SampleField, Float64Array>>
}

export type ActivitySamples = { readonly activityId: number; readonly samples: Samples }

/**
 * A per-second field without a column. `values` has `count` values in the order of the samples' time and ordinal, NaN if a sample has no
 * number; `others` has the values that are not numbers, by index.
 */
export type SampleExtra = Readonly<{
  field: string
  count: number
  values: Float64Array
  others?: ReadonlyMap<number, unknown> | undefined
}>

/** The samples and sample extras of one activity. */
export type SamplesWithExtras = ActivitySamples & {
  readonly sampleExtras?: readonly SampleExtra[] | undefined
}

const CHUNK_BYTES = 256 * 1024
// The number of columns, then an integer and a time, each after its length.
const FIXED_BYTES = 2 + 8 + 12
const [DOUBLE_BYTES, REAL_BYTES, INTEGER_BYTES] = [12, 8, 8] as const

/** The columns of eight bytes; the others have four. */
export const DOUBLES = SAMPLE_FIELDS.filter((field) => SAMPLE_VALUE_FIELDS[field].kind === 'number')
const REALS = SAMPLE_FIELDS.filter((field) => !DOUBLES.includes(field))

/**
 * Encodes samples as rows of Postgres's binary COPY, in chunks of at most 256 KB. NaN becomes NULL. Leaves out columns that hold nothing else,
 * unless `everyColumn` is set. Infinities stay. A finite value that does not fit its column becomes NULL, because COPY would fail;
 * normalizeSamples has reported it as drift. Each chunk is a new buffer, so that it can be sent while the next chunk is encoded.
 */
export function encodeSamples(activities: readonly ActivitySamples[], { everyColumn = false } = {}) {
  const known = (field: SampleField) =>
    everyColumn || activities.some(({ samples }) => hasValue(samples.columns[field], samples.count))
  const [doubles, reals] = [DOUBLES.filter(known), REALS.filter(known)]
  const ordinals = activities.map(({ samples }) => ordinalsOf(samples.t, samples.count))
  const numbered = everyColumn || ordinals.some((one) => one !== undefined)
  function* chunks(): Generator<Buffer> {
    for (const [index, { activityId, samples }] of activities.entries()) {
      const { count, t, columns } = samples
      // Array.from, because `map` returns arrays of two kinds, and V8 would compile the loops below for both.
      const valuesOf = (fields: readonly SampleField[]) => Array.from(fields, (field) => columns[field])
      const ofActivity = numbered ? (ordinals[index] ?? new Int32Array(count)) : undefined
      const rows = { activityId, t, doubles: valuesOf(doubles), reals: valuesOf(reals), ordinals: ofActivity }
      yield* encodeRows(rows, count)
    }
  }
  return {
    columns: ['activity_id', 't', ...doubles, ...reals, ...(numbered ? ['ordinal'] : [])],
    chunks: chunks(),
  }
}

type Rows = {
  activityId: number
  t: Float64Array
  doubles: readonly Float64Array[]
  reals: readonly Float64Array[]
  /** 0 becomes NULL; undefined if the column is left out */
  ordinals: Int32Array | undefined
}

function* encodeRows(rows: Rows, count: number): Generator<Buffer> {
  const ordinalBytes = rows.ordinals ? INTEGER_BYTES : 0
  const rowBytes =
    FIXED_BYTES + rows.doubles.length * DOUBLE_BYTES + rows.reals.length * REAL_BYTES + ordinalBytes
  const rowsAChunk = Math.floor(CHUNK_BYTES / rowBytes)
  for (let from = 0; from < count; from += rowsAChunk) {
    const to = Math.min(count, from + rowsAChunk)
    const chunk = Buffer.allocUnsafeSlow((to - from) * rowBytes)
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    yield chunk.subarray(0, writeRows(view, rows, { from, to }))
  }
}

function writeRows(
  view: DataView,
  { activityId, t, doubles, reals, ordinals }: Rows,
  { from, to }: { from: number; to: number },
): number {
  const columns = 2 + doubles.length + reals.length + (ordinals ? 1 : 0)
  let at = 0
  for (let row = from; row < to; row++) {
    view.setInt16(at, columns)
    view.setInt32(at + 2, 4)
    view.setInt32(at + 6, activityId)
    at = writeTime(view, at + 10, t[row] as number)
    for (let index = 0; index < doubles.length; index++)
      at = writeDouble(view, at, (doubles[index] as Float64Array)[row] as number)
    for (let index = 0; index < reals.length; index++)
      at = writeReal(view, at, (reals[index] as Float64Array)[row] as number)
    const ordinal = ordinals?.[row]
    if (ordinals) at = ordinal ? writeInteger(view, at, ordinal) : writeNull(view, at)
  }
  return at
}

function writeTime(view: DataView, at: number, ms: number): number {
  if (!fitsTimestamp(ms)) return writeNull(view, at)
  view.setInt32(at, 8)
  writeMoment(view, at + 4, ms)
  return at + 12
}

function writeReal(view: DataView, at: number, value: number): number {
  if (!fitsFloat4(value) && Math.abs(value) !== Number.POSITIVE_INFINITY) return writeNull(view, at)
  view.setInt32(at, 4)
  view.setFloat32(at + 4, value)
  return at + 8
}

/**
 * Numbers samples that share a time, from 1 in their order, because a table keeps no order of rows; a sample with a unique time gets 0.
 * Returns undefined if no time repeats, as in nearly every activity. Times are ms since 1970, ascending; times that become NULL count as
 * equal.
 */
function ordinalsOf(t: Float64Array, count: number): Int32Array | undefined {
  let ordinals: Int32Array | undefined
  for (let index = 1; index < count; index++) {
    if (!isSameTime(t[index - 1] as number, t[index] as number)) continue
    ordinals ??= new Int32Array(count)
    const before = ordinals[index - 1] || 1
    ordinals[index - 1] = before
    ordinals[index] = before + 1
  }
  return ordinals
}

function isSameTime(a: number, b: number): boolean {
  if (b - a >= 1) return false
  if (!fitsTimestamp(a) || !fitsTimestamp(b)) return fitsTimestamp(a) === fitsTimestamp(b)
  return microsOf(a) === microsOf(b)
}

/** Encodes an activity's sample extras as rows of Postgres's binary COPY, ordered by the bytes of their field names. */
export function encodeSampleExtras({ activityId, sampleExtras = [] }: SamplesWithExtras): Buffer[] {
  const byField = new Map(sampleExtras.map((extra) => [cleanText(extra.field), extra]))
  return [...byField]
    .map(([field, extra]) => ({ name: Buffer.from(field), extra }))
    .sort((a, b) => a.name.compare(b.name))
    .map(({ name, extra }) => encodeRow(activityId, name, extra))
}

const FLOAT8_OID = 701
/** Precedes the text of a jsonb. */
const JSONB_VERSION = '\u0001'
/** Bytes of a binary array before its elements: length, dimensions, NULL flag, type, number of elements, first subscript. */
const ARRAY_HEADER = 6 * 4

/** Encodes a row of binary COPY with an array of doubles, NaN as NULL, and a jsonb object. */
function encodeRow(activityId: number, name: Buffer, extra: SampleExtra): Buffer {
  const sent = othersOf(extra)
  const others = sent && Buffer.from(`${JSONB_VERSION}${JSON.stringify(sent)}`)
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
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  for (let index = 0; index < extra.count; index++) at = writeDouble(view, at, extra.values[index] as number)
  at = buffer.writeInt32BE(others?.length ?? NULL, at)
  others?.copy(buffer, at)
  return buffer
}

function countNumbers({ values, count }: SampleExtra): number {
  let known = 0
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) known++
  return known
}

/** Returns the values that are not numbers, by index from 1 as in SQL; undefined if there are none. */
export function othersOf({ others }: SampleExtra): Record<string, unknown> | undefined {
  if (!others || others.size === 0) return undefined
  return Object.fromEntries([...others].map(([index, value]) => [index + 1, cleanJson(value)]))
}
