import type { Encoding } from 'hyparquet'
import type { ByteWriter, ColumnSource, SchemaElement } from 'hyparquet-writer'
import { VERSION } from '../../config/version.ts'
import {
  type ExportColumn,
  type ExportPage,
  type ExportValues,
  makeValues,
} from '../../store/export/exported-columns.ts'

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
  const [{ ByteWriter, ParquetWriter }, { compressZstd }] = await Promise.all([
    import('hyparquet-writer'),
    import('./zstd.ts'),
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
    const columnData = group.map((column) => sourceOf(column, rows))
    writer.write({ columnData, rowGroupSize: rows, pageSize: PAGE_BYTES })
    for (const column of group) column.nullCount = 0
    rows = 0
    return removeBytes(bytes)
  }
  for await (const page of pages) {
    for (let from = 0, count: number; from < page.rows; from += count) {
      count = Math.min(page.rows - from, ROWS_A_GROUP - rows)
      appendRows(group, rows, { page, from, to: from + count })
      rows += count
      if (rows === ROWS_A_GROUP) yield writeGroup()
    }
  }
  if (rows > 0) yield writeGroup()
  writer.finish()
  yield removeBytes(bytes)
}

/** Removes what was written from the buffer, which begins anew; the writer counts on. */
function removeBytes(bytes: ByteWriter): Uint8Array {
  const written = bytes.getBytes().slice()
  bytes.index = 0
  return written
}

/** A column of the group under way: `data` in the type that its pages have, and which of them are NULL. */
type GroupColumn = {
  column: ExportColumn
  data: ExportValues['values']
  nulls: Uint8Array
  nullCount: number
}

function makeGroup(columns: readonly ExportColumn[]): GroupColumn[] {
  return columns.map((column) => {
    const { values: data, nulls } = makeValues(column.type, ROWS_A_GROUP)
    return { column, data, nulls, nullCount: 0 }
  })
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
      for (let row = from; row < to; row++) (column.data as string[])[rows + row - from] = values[row] ?? ''
    // The types are the same, because both are of makeValues.
    else (column.data as Float64Array).set(values.subarray(from, to) as Float64Array, rows)
    column.nulls.set(nulls.subarray(from, to), rows)
    for (let row = from; row < to; row++) column.nullCount += nulls[row] as number
  }
}

/** Returns a column as the library takes it: as it is when nothing of it is NULL, which needs no object for each number. */
function sourceOf(
  { column: { name, type }, data, nulls, nullCount }: GroupColumn,
  rows: number,
): ColumnSource {
  const encoding = ENCODINGS[type]
  // The bounds of a measured value are much the same in each group, so no reader could skip one.
  const options = { name, statistics: encoding !== 'BYTE_STREAM_SPLIT', ...(encoding && { encoding }) }
  if (nullCount === 0)
    return { ...options, data: Array.isArray(data) ? data.slice(0, rows) : data.subarray(0, rows) }
  const values: Array<number | bigint | string | null> = new Array(rows).fill(null)
  if (nullCount < rows)
    for (let row = 0; row < rows; row++) if (nulls[row] === 0) values[row] = data[row] as number
  return { ...options, data: values }
}

/** Texts have the encoding that the library takes by itself: a dictionary where values repeat. */
const ENCODINGS: Readonly<Record<ExportColumn['type'], Encoding | undefined>> = {
  int32: 'DELTA_BINARY_PACKED',
  int64: 'DELTA_BINARY_PACKED',
  float: 'BYTE_STREAM_SPLIT',
  double: 'BYTE_STREAM_SPLIT',
  text: undefined,
  instant: 'DELTA_BINARY_PACKED',
  wall_clock: 'DELTA_BINARY_PACKED',
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
