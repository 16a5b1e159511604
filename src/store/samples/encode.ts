import { SAMPLE_FIELDS, type SampleField, type Samples } from './samples.ts'

/** Filled while the chunks are read: how many values were written as NULL because their column cannot hold them. */
export type EncodeTally = { outOfRange: number }

const CHUNK_BYTES = 256 * 1024
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
// The signature, four bytes of flags and four of the length of the header's extension.
const HEADER_BYTES = SIGNATURE.length + 8
const TRAILER_BYTES = 2
const COLUMNS = SAMPLE_FIELDS.length + 2
// A count of columns, and before each value its length.
const LONGEST_ROW_BYTES = 2 + COLUMNS * (4 + 8)
const MS_TO_2000 = 946_684_800_000
const TWO_POW_32 = 2 ** 32
// What a timestamptz holds begins in 4713 BC; what a JavaScript date holds ends in the year 275760.
const FIRST_MS = -210_866_803_200_000
const LAST_MS = 8_640_000_000_000_000
// Halfway between the largest float4 and the next power of two; from here on rounding gives an infinity.
const FLOAT4_LIMIT = 2 ** 128 - 2 ** 103
const DOUBLE: ReadonlySet<SampleField> = new Set(['lat', 'lng'])

type Column = { values: Float64Array; double: boolean }

/**
 * Encodes samples in Postgres's binary COPY format, columns in the order of `training.samples`, in chunks of 256 KB.
 * NaN becomes NULL, infinities stay, and a finite value beyond what the column can hold becomes NULL and is counted
 * in `tally`. Every chunk is a buffer of its own, so a chunk may still be on its way while the next one is made.
 */
export function* encodeSamples(activityId: number, samples: Samples, tally: EncodeTally): Generator<Buffer> {
  const columns: Column[] = SAMPLE_FIELDS.map((field) => ({
    values: samples.columns[field],
    double: DOUBLE.has(field),
  }))
  let row = 0
  do {
    const rows = Math.min(samples.count - row, Math.floor(CHUNK_BYTES / LONGEST_ROW_BYTES))
    const chunk = Buffer.allocUnsafeSlow(HEADER_BYTES + rows * LONGEST_ROW_BYTES + TRAILER_BYTES)
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let at = row === 0 ? writeHeader(chunk, view) : 0
    for (const end = row + rows; row < end; row++)
      at = writeRow(view, at, activityId, samples.t, columns, row, tally)
    if (row === samples.count) {
      view.setInt16(at, -1)
      at += TRAILER_BYTES
    }
    yield chunk.subarray(0, at)
  } while (row < samples.count)
}

function writeHeader(chunk: Buffer, view: DataView): number {
  SIGNATURE.copy(chunk)
  view.setInt32(SIGNATURE.length, 0)
  view.setInt32(SIGNATURE.length + 4, 0)
  return HEADER_BYTES
}

function writeRow(
  view: DataView,
  start: number,
  activityId: number,
  t: Float64Array,
  columns: readonly Column[],
  row: number,
  tally: EncodeTally,
): number {
  view.setInt16(start, COLUMNS)
  view.setInt32(start + 2, 4)
  view.setInt32(start + 6, activityId)
  let at = writeTime(view, start + 10, t[row] ?? Number.NaN, tally)
  for (const column of columns) {
    const value = column.values[row] ?? Number.NaN
    if (Number.isNaN(value)) at = writeNull(view, at)
    else if (column.double) at = writeDouble(view, at, value)
    else at = writeReal(view, at, value, tally)
  }
  return at
}

function writeTime(view: DataView, at: number, ms: number, tally: EncodeTally): number {
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) {
    if (!Number.isNaN(ms)) tally.outOfRange++
    return writeNull(view, at)
  }
  // Microseconds since 2000 as two halves: a BigInt a row would cost more than the rest of the row.
  const micros = Math.round((ms - MS_TO_2000) * 1000)
  const high = Math.floor(micros / TWO_POW_32)
  view.setInt32(at, 8)
  view.setInt32(at + 4, high)
  view.setUint32(at + 8, micros - high * TWO_POW_32)
  return at + 12
}

function writeNull(view: DataView, at: number): number {
  view.setInt32(at, -1)
  return at + 4
}

function writeReal(view: DataView, at: number, value: number, tally: EncodeTally): number {
  if (Math.abs(value) >= FLOAT4_LIMIT && Number.isFinite(value)) {
    tally.outOfRange++
    return writeNull(view, at)
  }
  view.setInt32(at, 4)
  view.setFloat32(at + 4, value)
  return at + 8
}

function writeDouble(view: DataView, at: number, value: number): number {
  view.setInt32(at, 8)
  view.setFloat64(at + 4, value)
  return at + 12
}
