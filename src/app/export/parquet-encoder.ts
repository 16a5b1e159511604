import type { ColumnChunk } from 'hyparquet'
import type { ByteWriter, ColumnSource, ParquetWriter, SchemaElement } from 'hyparquet-writer'
import { VERSION } from '../../config/version.ts'
import {
  type ExportColumn,
  type ExportPage,
  type ExportValues,
  makeValues,
} from '../../store/export/exported-columns.ts'
import type { SplitColumn } from './split-column.ts'

/**
 * Rows of a row group, the part of a file that is made in memory, about 20 MB, and in one go, about a third of a second. zstd
 * takes blocks of 128 KiB: half as many rows would mix all bytes of a float in one, and take 4 % more; twice as many take 1 % less.
 */
const ROWS_A_GROUP = 65_536
/** A column of a group is one page: more of them would divide the same bytes among more blocks. */
const PAGE_BYTES = 64 * 1024 * 1024

/**
 * Encodes pages of rows as one Parquet file, compressed by zstd, and yields its bytes in pieces. Numbers keep every digit. The
 * bytes of floating-point numbers are stored by their place (BYTE_STREAM_SPLIT) and whole numbers by their differences
 * (DELTA_BINARY_PACKED), which compress to half the size of plain values.
 */
export async function* encodeParquet(
  name: string,
  columns: readonly ExportColumn[],
  pages: AsyncIterable<ExportPage>,
): AsyncGenerator<Uint8Array> {
  // Loaded only here, because no other format needs them.
  const [{ ByteWriter, ParquetWriter }, { compressZstd }, { writeSplitColumn }] = await Promise.all([
    import('hyparquet-writer'),
    import('./zstd.ts'),
    import('./split-column.ts'),
  ])
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name, num_children: columns.length }, ...columns.map(elementOf)],
    codec: 'ZSTD',
    compressors: { ZSTD: compressZstd },
    createdBy: `musette version ${VERSION}`,
  })
  const group = makeGroup(columns)
  let rows = 0
  const writeGroup = (): Uint8Array => {
    const columnData = group.filter((column) => !isSplit(column)).map((column) => sourceOf(column, rows))
    writer.write({ columnData, rowGroupSize: rows, pageSize: PAGE_BYTES })
    addColumns(
      writer,
      group.filter(isSplit).map((column) => writeSplitColumn(bytes, compressZstd, { ...column, rows })),
    )
    for (const column of group) column.nullCount = 0
    rows = 0
    return removeBytes(bytes)
  }
  for await (const page of pages) {
    for (let from = 0, count: number; from < page.rows; from += count) {
      count = Math.min(page.rows - from, ROWS_A_GROUP - rows)
      for (const column of group) reserve(column, rows + count)
      appendRows(group, rows, { page, from, to: from + count })
      rows += count
      if (rows === ROWS_A_GROUP) yield writeGroup()
    }
  }
  if (rows > 0) yield writeGroup()
  writer.finish()
  yield removeBytes(bytes)
}

/** Adds columns to the last row group, in the order of the schema; their bytes may lie in another one. */
function addColumns(writer: ParquetWriter, more: readonly ColumnChunk[]): void {
  const group = writer.row_groups.at(-1)
  if (!group) throw new Error('a row group is written first')
  const places = new Map(writer.schema.map(({ name }, place) => [name, place]))
  const placeOf = ({ meta_data: facts }: ColumnChunk) => places.get(facts?.path_in_schema[0] ?? '') ?? 0
  group.columns = [...group.columns, ...more].sort((a, b) => placeOf(a) - placeOf(b))
  const sum = (size: 'total_uncompressed_size' | 'total_compressed_size') =>
    group.columns.reduce((total, { meta_data: facts }) => total + (facts?.[size] ?? 0n), 0n)
  group.total_byte_size = sum('total_uncompressed_size')
  group.total_compressed_size = sum('total_compressed_size')
}

/** Removes what was written from the buffer, which begins anew; the writer counts on. */
function removeBytes(bytes: ByteWriter): Uint8Array {
  const written = bytes.getBytes().slice()
  bytes.index = 0
  return written
}

/** A column of the group under way: `values` in the type that its pages have, and which of them are NULL. */
type GroupColumn = Pick<ExportColumn, 'name' | 'type'> & {
  values: ExportValues['values']
  nulls: Uint8Array
  nullCount: number
}

function isSplit(column: GroupColumn): column is GroupColumn & SplitColumn {
  return column.values instanceof Float32Array || column.values instanceof Float64Array
}

function makeGroup(columns: readonly ExportColumn[]): GroupColumn[] {
  return columns.map(({ name, type }) => ({
    name,
    type,
    ...makeValues(type, 0),
    nullCount: 0,
  }))
}

/** Makes room for so many rows in a column; a small table does not take the memory of a whole group. */
function reserve(column: GroupColumn, rows: number): void {
  if (column.nulls.length >= rows) return
  const { values, nulls } = makeValues(column.type, Math.min(ROWS_A_GROUP, rows * 4))
  nulls.set(column.nulls)
  column.nulls = nulls
  if (Array.isArray(values)) return
  ;(values as Float64Array).set(column.values as Float64Array)
  column.values = values
}

/** Appends the rows of a page from `from` to before `to` behind the `rows` that the group has. */
function appendRows(
  group: readonly GroupColumn[],
  rows: number,
  { page, from, to }: { page: ExportPage; from: number; to: number },
): void {
  for (const [index, { values, nulls }] of page.columns.entries()) {
    const column = group[index] as GroupColumn
    if (Array.isArray(values))
      for (let row = from; row < to; row++) (column.values as string[])[rows + row - from] = values[row] ?? ''
    // The types are the same, because both are of makeValues.
    else (column.values as Float64Array).set(values.subarray(from, to) as Float64Array, rows)
    column.nulls.set(nulls.subarray(from, to), rows)
    for (let row = from; row < to; row++) column.nullCount += nulls[row] as number
  }
}

/** Returns a column as the library takes it: as it is when nothing of it is NULL, which needs no object for each number. */
function sourceOf({ name, type, values: data, nulls, nullCount }: GroupColumn, rows: number): ColumnSource {
  // Texts have the encoding that the library takes by itself: a dictionary where values repeat.
  const options = { name, ...(type !== 'text' && { encoding: 'DELTA_BINARY_PACKED' as const }) }
  if (nullCount === 0)
    return { ...options, data: Array.isArray(data) ? data.slice(0, rows) : data.subarray(0, rows) }
  const values: Array<number | bigint | string | null> = new Array(rows).fill(null)
  if (nullCount < rows)
    for (let row = 0; row < rows; row++) if (nulls[row] === 0) values[row] = data[row] as number
  return { ...options, data: values }
}

function elementOf({ name, type }: ExportColumn): SchemaElement {
  const optional = { name, repetition_type: 'OPTIONAL' } as const
  if (type === 'int32') return { ...optional, type: 'INT32' }
  if (type === 'int64') return { ...optional, type: 'INT64' }
  if (type === 'float') return { ...optional, type: 'FLOAT' }
  if (type === 'double') return { ...optional, type: 'DOUBLE' }
  if (type === 'text')
    return { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
  const timestamp = { type: 'TIMESTAMP', unit: 'MICROS' } as const
  if (type === 'wall_clock')
    return { ...optional, type: 'INT64', logical_type: { ...timestamp, isAdjustedToUTC: false } }
  return {
    ...optional,
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { ...timestamp, isAdjustedToUTC: true },
  }
}
