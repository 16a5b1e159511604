import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { copyOut, HEADER_BYTES, MS_TO_2000, NULL } from '../../../core/store/copy.ts'
import type { Tx } from '../../../core/store/store.ts'

/**
 * The type of a column in a file. Values are numbers for `int32`, `float` and `double`, bigints for `int64`, strings for `text` (lists as
 * JSON, `true` and `false`), and whole microseconds since 1970 for `instant` (UTC) and `wall_clock` (no zone).
 */
type ColumnType = 'int32' | 'int64' | 'float' | 'double' | 'text' | 'instant' | 'wall_clock'

export type ExportColumn = Readonly<{ name: string; type: ColumnType; isList?: true }>

/** Values of a column. Where `nulls` is 1, the value is NULL and the entry of `values` has no meaning. */
export type ExportValues = Readonly<{
  values: Int32Array | Float32Array | Float64Array | BigInt64Array | string[]
  nulls: Uint8Array
  /** whether the values are times */
  isTime?: boolean
  /** whether `values` holds a single string for all rows */
  isSame?: true
  /** UTF-8 texts instead of `values`, because a string for each text that rarely repeats would burden the garbage collector */
  utf8?: Utf8Texts
}>

/** Concatenated texts, and the end offset of each; a NULL has an empty text. */
type Utf8Texts = Readonly<{ bytes: Uint8Array; ends: Int32Array }>

/** Rows in columns: each column has `rows` values. */
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

/** Returns the columns of a table in order, by the types of the schema, except the columns in `without`. */
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

/** Returns the expression that selects a column of the row `alias` in the form that findColumnPages reads. */
export function makeSelection(alias: string, { name, type, isList }: ExportColumn): string {
  const column = `${alias}."${name}"`
  if (isList) return `to_json(${column})::text`
  if (type === 'int32') return `${column}::int4`
  if (type === 'wall_clock') return `${column}::timestamp`
  return type === 'text' ? `${column}::text` : column
}

/** Allocates the values of a column for a number of rows. */
export function makeValues(type: ColumnType, rows: number): ExportValues {
  const nulls = new Uint8Array(rows)
  if (type === 'int32') return { values: new Int32Array(rows), nulls }
  if (type === 'float') return { values: new Float32Array(rows), nulls }
  if (type === 'double') return { values: new Float64Array(rows), nulls }
  if (type === 'text') return { values: [], nulls }
  return { values: new BigInt64Array(rows), nulls, isTime: type !== 'int64' }
}

/** Copies the rows `from` to `to` (exclusive) of a page; the copy shares no array with the page. */
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
  // Buffer.slice would not copy.
  const cut = Uint8Array.prototype.slice.call(bytes, start, ends[to - 1])
  return { bytes: cut, ends: ends.slice(from, to).map((end) => end - start) }
}

/** Rows per page: large enough to make the arrays cheap, small enough for several pages in memory. */
const ROWS_A_PAGE = 4_096

const MICROS_TO_2000 = BigInt(MS_TO_2000) * 1_000n
// The numbers that stand for the infinite times, in microseconds.
const [EARLIEST, LATEST] = [-(2n ** 63n), 2n ** 63n - 1n]

/**
 * Yields the rows of a query as pages of columns, read by binary COPY. The query must select these columns by makeSelection and have no
 * parameters, because COPY takes none. If the caller stops early, it waits until Postgres has sent all rows, so a query should select at
 * most the rows of one file.
 */
export async function* findColumnPages(tx: Tx, query: string, columns: readonly ExportColumn[]) {
  // Set no limit: while a person pages through the output, the transaction may be idle for a long time.
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
    // Copy the last page, because with few rows it would keep the memory of a full page.
    if (rows > 0) yield cutPage({ rows, columns: page }, 0, rows)
  } finally {
    while (!(await chunks.next()).done);
  }
}

/** Reads the row that starts at `start` and returns its end, or `start` if the row is incomplete. */
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
