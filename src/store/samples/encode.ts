import { hasValue } from '../../kit/floats.ts'
import { writeMoment } from '../copy.ts'
import { type ActivitySamples, SAMPLE_FIELDS, type SampleField } from './samples.ts'

/** Filled while the chunks are read: how many values were written as NULL because their column cannot hold them. */
export type EncodeTally = { outOfRange: number }

const CHUNK_BYTES = 256 * 1024
// A count of columns; then, each behind its length, an integer and a time.
const FIXED_BYTES = 2 + 8 + 12
const [DOUBLE_BYTES, REAL_BYTES] = [12, 8] as const
// What a timestamptz holds begins in 4713 BC; what a JavaScript date holds ends in the year 275760.
const FIRST_MS = -210_866_803_200_000
const LAST_MS = 8_640_000_000_000_000
// Halfway between the largest float4 and the next power of two; from here on rounding gives an infinity.
const FLOAT4_LIMIT = 2 ** 128 - 2 ** 103
const NULL = -1

/** The columns of eight bytes, and those of four. */
const DOUBLES: readonly SampleField[] = ['lat', 'lng']
const REALS = SAMPLE_FIELDS.filter((field) => !DOUBLES.includes(field))

/** The columns that are written, in order, and the rows of them. */
export type Encoded = { columns: readonly string[]; chunks: Generator<Buffer> }

/**
 * Encodes samples as rows of Postgres's binary COPY, in chunks of at most 256 KB. NaN becomes NULL, and columns of nothing
 * else are left out, which comes to the same; infinities stay, and a finite value beyond what its column can hold becomes
 * NULL and is counted in `tally`. Each chunk is a buffer of its own, so it may still be on its way while the next is made.
 */
export function encodeSamples(activities: readonly ActivitySamples[], tally: EncodeTally): Encoded {
  const known = (field: SampleField) =>
    activities.some(({ samples }) => hasValue(samples.columns[field], samples.count))
  const [doubles, reals] = [DOUBLES.filter(known), REALS.filter(known)]
  return {
    columns: ['activity_id', 't', ...doubles, ...reals],
    chunks: makeChunks(activities, { doubles, reals }, tally),
  }
}

type Fields = { doubles: readonly SampleField[]; reals: readonly SampleField[] }

type Rows = {
  activityId: number
  t: Float64Array
  doubles: readonly Float64Array[]
  reals: readonly Float64Array[]
}

function* makeChunks(
  activities: readonly ActivitySamples[],
  { doubles, reals }: Fields,
  tally: EncodeTally,
): Generator<Buffer> {
  for (const { activityId, samples } of activities) {
    // Not by `map`, whose arrays V8 makes of two kinds, and compiles for both.
    const rows = {
      activityId,
      t: samples.t,
      doubles: Array.from(doubles, (field) => samples.columns[field]),
      reals: Array.from(reals, (field) => samples.columns[field]),
    }
    yield* makeRowChunks(rows, samples.count, tally)
  }
}

function* makeRowChunks(rows: Rows, count: number, tally: EncodeTally): Generator<Buffer> {
  const rowBytes = FIXED_BYTES + rows.doubles.length * DOUBLE_BYTES + rows.reals.length * REAL_BYTES
  const rowsAChunk = Math.floor(CHUNK_BYTES / rowBytes)
  for (let from = 0; from < count; from += rowsAChunk) {
    const to = Math.min(count, from + rowsAChunk)
    const chunk = Buffer.allocUnsafeSlow((to - from) * rowBytes)
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    yield chunk.subarray(0, writeRows(view, rows, { from, to }, tally))
  }
}

function writeRows(
  view: DataView,
  { activityId, t, doubles, reals }: Rows,
  { from, to }: { from: number; to: number },
  tally: EncodeTally,
): number {
  const columns = 2 + doubles.length + reals.length
  let at = 0
  for (let row = from; row < to; row++) {
    view.setInt16(at, columns)
    view.setInt32(at + 2, 4)
    view.setInt32(at + 6, activityId)
    at = writeTime(view, at + 10, t[row] as number, tally)
    at = writeDoubles(view, at, doubles, row)
    at = writeReals(view, at, reals, row, tally)
  }
  return at
}

function writeTime(view: DataView, at: number, ms: number, tally: EncodeTally): number {
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) {
    if (!Number.isNaN(ms)) tally.outOfRange++
    view.setInt32(at, NULL)
    return at + 4
  }
  view.setInt32(at, 8)
  writeMoment(view, at + 4, ms)
  return at + 12
}

function writeDoubles(view: DataView, start: number, columns: readonly Float64Array[], row: number): number {
  let at = start
  for (let index = 0; index < columns.length; index++) {
    const value = (columns[index] as Float64Array)[row] as number
    if (Number.isNaN(value)) {
      view.setInt32(at, NULL)
      at += 4
    } else {
      view.setInt32(at, 8)
      view.setFloat64(at + 4, value)
      at += 12
    }
  }
  return at
}

function writeReals(
  view: DataView,
  start: number,
  columns: readonly Float64Array[],
  row: number,
  tally: EncodeTally,
): number {
  let at = start
  for (let index = 0; index < columns.length; index++) {
    const value = (columns[index] as Float64Array)[row] as number
    const fits = Math.abs(value) < FLOAT4_LIMIT || Math.abs(value) === Number.POSITIVE_INFINITY
    if (fits) {
      view.setInt32(at, 4)
      view.setFloat32(at + 4, value)
      at += 8
    } else {
      if (!Number.isNaN(value)) tally.outOfRange++
      view.setInt32(at, NULL)
      at += 4
    }
  }
  return at
}
