import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { copyOut, HEADER_BYTES, MS_TO_2000, NULL } from '../../../core/store/copy.ts'
import type { Tx } from '../../../core/store/store.ts'

/**
 * What a column holds in a file. The values: numbers for `int32`, `float` and `double`, whole numbers for `int64`, texts for `text`
 * (lists as JSON, `true` and `false`), and whole microseconds since 1970 for `instant` (UTC) and `wall_clock` (no zone).
 */
type ColumnType = 'int32' | 'int64' | 'float' | 'double' | 'text' | 'instant' | 'wall_clock'

export type ExportColumn = Readonly<{ name: string; type: ColumnType; isList?: true }>

/** Values of a column; where `nulls` is 1, the value is NULL and `values` holds anything. */
export type ExportValues = Readonly<{
  values: Int32Array | Float32Array | Float64Array | BigInt64Array | string[]
  nulls: Uint8Array
  /** the values are times */
  isTime?: boolean
  /** `values` holds one text, which all rows have */
  isSame?: true
  /** texts in UTF-8, in place of `values`: a string for each text that hardly repeats is work for the garbage collector */
  utf8?: Utf8Texts
}>

/** Texts one after the other, and the place after each; one that is NULL is empty. */
type Utf8Texts = Readonly<{ bytes: Uint8Array; ends: Int32Array }>

/** Rows as the files take them: as many values of each column. */
export type ExportPage = Readonly<{ rows: number; columns: readonly ExportValues[] }>

const TYPES: Readonly<Record<string, ColumnType>> = {
  integer: 'int32',
  smallint: 'int32',
  bigint: 'int64',
  real: 'float',
  'double precision': 'double',
  text: 'text',
  jsonb: 'text',
  boolean: 'text',
  'timestamp with time zone': 'instant',
  timestamp: 'wall_clock',
}

/** Returns the columns of a table in its order, by the types of the schema; those in `without` are left out. */
export function columnsOf(table: PgTable, without: readonly string[] = []): ExportColumn[] {
  const columns: PgColumn[] = Object.values(getTableColumns(table))
  return columns
    .filter(({ name }) => !without.includes(name))
    .map((column) => {
      const isList = column.getSQLType().endsWith('[]')
      const type = isList ? 'text' : TYPES[column.getSQLType()]
      if (!type) throw new Error(`no file has a column of type ${column.getSQLType()}`)
      return { name: column.name, type, ...(isList && { isList }) }
    })
}

/** Writes the expression that selects a column of the row `alias` as findColumnPages reads it. */
export function makeSelection(alias: string, { name, type, isList }: ExportColumn): string {
  const column = `${alias}."${name}"`
  if (isList) return `to_json(${column})::text`
  if (type === 'int32') return `${column}::int4`
  if (type === 'wall_clock') return `${column}::timestamp`
  return type === 'text' ? `${column}::text` : column
}

/** Makes room for the values of a column in so many rows. */
export function makeValues(type: ColumnType, rows: number): ExportValues {
  const nulls = new Uint8Array(rows)
  if (type === 'int32') return { values: new Int32Array(rows), nulls }
  if (type === 'float') return { values: new Float32Array(rows), nulls }
  if (type === 'double') return { values: new Float64Array(rows), nulls }
  if (type === 'text') return { values: [], nulls }
  return { values: new BigInt64Array(rows), nulls, isTime: type !== 'int64' }
}

/** Copies the rows of a page from `from` to before `to`: the arrays of the page stay its own. */
export function cutPage({ columns }: ExportPage, from: number, to: number): ExportPage {
  const cut = columns.map(({ values, nulls, utf8, ...rest }) => ({
    ...rest,
    values: rest.isSame ? values.slice() : values.slice(from, to),
    nulls: nulls.slice(from, to),
    ...(utf8 && { utf8: cutTexts(utf8, from, to) }),
  }))
  return { rows: to - from, columns: cut }
}

function cutTexts({ bytes, ends }: Utf8Texts, from: number, to: number): Utf8Texts {
  const start = ends[from - 1] ?? 0
  // A Buffer's own slice would copy nothing.
  const cut = Uint8Array.prototype.slice.call(bytes, start, ends[to - 1])
  return { bytes: cut, ends: ends.slice(from, to).map((end) => end - start) }
}

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
