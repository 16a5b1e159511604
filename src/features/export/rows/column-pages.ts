import { copyOut, HEADER_BYTES, MS_TO_2000, NULL } from '../../../core/store/copy.ts'
import type { Tx } from '../../../core/store/store.ts'
import { cutPage, type ExportColumn, type ExportValues, makeValues } from './exported-columns.ts'

/** Large enough for its arrays to cost nothing, small enough to hold several pages in memory. */
const ROWS_A_PAGE = 4_096

const MICROS_TO_2000 = BigInt(MS_TO_2000) * 1_000n
// Infinite times, which have no number.
const [EARLIEST, LATEST] = [-(2n ** 63n), 2n ** 63n - 1n]

/**
 * Finds the rows of a query by binary COPY as pages of columns. The query selects these columns by makeSelection, and has no
 * parameters, which COPY cannot take. A reader that stops early waits until Postgres has sent the rest, because a COPY cannot be
 * left; so a query should have the rows of a file at most.
 */
export async function* findColumnPages(tx: Tx, query: string, columns: readonly ExportColumn[]) {
  // A person who pages through the output may leave the transaction idle for long.
  await tx.client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
  const { chunks } = copyOut(tx.client, `(${query})`)
  const makeColumns = () => columns.map(({ type }) => makeValues(type, ROWS_A_PAGE))
  let page = makeColumns()
  let rows = 0
  let rest = Buffer.alloc(0)
  let at = HEADER_BYTES
  try {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      const bytes = Buffer.concat([rest, next.value])
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let end = readRow(view, at, page, rows); end > at; end = readRow(view, at, page, rows)) {
        at = end
        rows += 1
        if (rows < ROWS_A_PAGE) continue
        yield { rows, columns: page }
        page = makeColumns()
        rows = 0
      }
      rest = bytes.subarray(at)
      at -= Math.min(at, bytes.length)
    }
    // A page of a few rows would keep the memory of many.
    if (rows > 0) yield cutPage({ rows, columns: page }, 0, rows)
  } finally {
    while (!(await chunks.next()).done);
  }
}

/** Reads the row at a place of the bytes, and returns where it ends; the same place when it is not there as a whole. */
function readRow(view: DataView, start: number, columns: readonly ExportValues[], row: number): number {
  let at = start + 2
  for (let index = 0; index < columns.length; index++) {
    if (at + 4 > view.byteLength) return start
    const length = view.getInt32(at)
    at += 4 + Math.max(0, length)
    if (at > view.byteLength) return start
    readField(view, at - length, length, columns[index] as ExportValues, row)
  }
  return at
}

function readField(
  view: DataView,
  at: number,
  length: number,
  { values, nulls, isTime }: ExportValues,
  row: number,
): void {
  nulls[row] = length === NULL ? 1 : 0
  if (length === NULL) return
  if (values instanceof Float32Array) values[row] = view.getFloat32(at)
  else if (values instanceof Float64Array) values[row] = view.getFloat64(at)
  else if (values instanceof Int32Array) values[row] = view.getInt32(at)
  else if (values instanceof BigInt64Array) {
    const value = view.getBigInt64(at)
    if (!isTime) values[row] = value
    else if (value === EARLIEST || value === LATEST) nulls[row] = 1
    else values[row] = value + MICROS_TO_2000
  } else values[row] = Buffer.from(view.buffer, view.byteOffset + at, length).toString()
}
