import { hasValue } from '../../kit/floats.ts'
import { SAMPLE_FIELDS, type SampleField, type Samples } from './samples.ts'

/** Filled while the chunks are read: how many values were written as NULL because their column cannot hold them. */
export type EncodeTally = { outOfRange: number }

const CHUNK_BYTES = 256 * 1024
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
// The signature, four bytes of flags and four of the length of the header's extension.
const HEADER_BYTES = SIGNATURE.length + 8
const TRAILER_BYTES = 2
// A count of columns; then, each behind its length, an integer and a time.
const FIXED_BYTES = 2 + 8 + 12
const [DOUBLE_BYTES, REAL_BYTES] = [12, 8] as const
const MS_TO_2000 = 946_684_800_000
const TWO_POW_32 = 2 ** 32
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
 * Encodes samples in Postgres's binary COPY format, in chunks of at most 256 KB. NaN becomes NULL, and columns of nothing
 * else are left out, which comes to the same; infinities stay, and a finite value beyond what its column can hold becomes
 * NULL and is counted in `tally`. Each chunk is a buffer of its own, so it may still be on its way while the next is made.
 */
export function encodeSamples(activityId: number, samples: Samples, tally: EncodeTally): Encoded {
  const known = (field: SampleField) => hasValue(samples.columns[field], samples.count)
  const [doubles, reals] = [DOUBLES.filter(known), REALS.filter(known)]
  // Not by `map`, whose arrays V8 makes of two kinds, and compiles for both.
  const rows = {
    activityId,
    t: samples.t,
    doubles: Array.from(doubles, (field) => samples.columns[field]),
    reals: Array.from(reals, (field) => samples.columns[field]),
  }
  return {
    columns: ['activity_id', 't', ...doubles, ...reals],
    chunks: makeChunks(rows, samples.count, tally),
  }
}

type Rows = {
  activityId: number
  t: Float64Array
  doubles: readonly Float64Array[]
  reals: readonly Float64Array[]
}

function* makeChunks(rows: Rows, count: number, tally: EncodeTally): Generator<Buffer> {
  const rowBytes = FIXED_BYTES + rows.doubles.length * DOUBLE_BYTES + rows.reals.length * REAL_BYTES
  const rowsAChunk = Math.floor((CHUNK_BYTES - HEADER_BYTES - TRAILER_BYTES) / rowBytes)
  for (let from = 0, last = false; !last; from += rowsAChunk) {
    const to = Math.min(count, from + rowsAChunk)
    const chunk = Buffer.allocUnsafeSlow(HEADER_BYTES + (to - from) * rowBytes + TRAILER_BYTES)
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let at = writeRows(view, from === 0 ? writeHeader(chunk, view) : 0, rows, { from, to }, tally)
    last = to === count
    if (last) {
      view.setInt16(at, -1)
      at += TRAILER_BYTES
    }
    yield chunk.subarray(0, at)
  }
}

function writeRows(
  view: DataView,
  start: number,
  { activityId, t, doubles, reals }: Rows,
  { from, to }: { from: number; to: number },
  tally: EncodeTally,
): number {
  const columns = 2 + doubles.length + reals.length
  let at = start
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

function writeHeader(chunk: Buffer, view: DataView): number {
  SIGNATURE.copy(chunk)
  view.setInt32(SIGNATURE.length, 0)
  view.setInt32(SIGNATURE.length + 4, 0)
  return HEADER_BYTES
}

function writeTime(view: DataView, at: number, ms: number, tally: EncodeTally): number {
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) {
    if (!Number.isNaN(ms)) tally.outOfRange++
    view.setInt32(at, NULL)
    return at + 4
  }
  // Microseconds since 2000 as two halves: a BigInt a row would cost more than the rest of the row.
  const micros = Math.round((ms - MS_TO_2000) * 1000)
  const high = Math.floor(micros / TWO_POW_32)
  view.setInt32(at, 8)
  view.setInt32(at + 4, high)
  view.setUint32(at + 8, micros - high * TWO_POW_32)
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
