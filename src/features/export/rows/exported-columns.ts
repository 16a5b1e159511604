import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'

/**
 * What a column holds in a file. The values: numbers for `int32`, `float` and `double`, whole numbers for `int64`, texts for `text`
 * (lists as JSON), and whole microseconds since 1970 for `instant` (UTC) and `wall_clock` (no zone).
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
export type Utf8Texts = Readonly<{ bytes: Uint8Array; ends: Int32Array }>

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
