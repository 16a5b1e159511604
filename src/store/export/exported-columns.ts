import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'

/**
 * What a column holds in a file. The values of the rows: numbers for `int32`, `float` and `double`, texts for `text`, and
 * texts of whole microseconds since 1970 for `instant` (UTC) and `wall_clock` (no zone).
 */
type ColumnType = 'int32' | 'float' | 'double' | 'text' | 'instant' | 'wall_clock'

export type ExportColumn = Readonly<{ name: string; type: ColumnType }>

/** A row as the files take it: one value for each column; NULL is null. */
export type ExportRow = ReadonlyArray<string | number | null>

const TYPES: Readonly<Record<string, ColumnType>> = {
  integer: 'int32',
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
      const type = TYPES[column.getSQLType()]
      if (!type) throw new Error(`no file has a column of type ${column.getSQLType()}`)
      return { name: column.name, type }
    })
}

/** Writes the expression that selects a column of the row `alias` as ExportRow wants it. */
export function makeSelection(alias: string, { name, type }: ExportColumn): string {
  const column = `${alias}."${name}"`
  if (type === 'text') return `${column}::text`
  if (type !== 'instant' && type !== 'wall_clock') return column
  // Infinite times have no number.
  return `case when isfinite(${column}) then (extract(epoch from ${column}) * 1000000)::bigint::text end`
}
