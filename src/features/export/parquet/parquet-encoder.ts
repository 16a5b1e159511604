import type { RowGroup, SchemaElement } from 'hyparquet'
import { VERSION } from '../../../kit/program-folder.ts'
import { cutPage, type ExportColumn, type ExportPage } from '../rows/exported-columns.ts'
import type { EncodedGroup, Group } from './parquet-group.ts'

/** Encodes a row group, on this thread or on another thread. In the second case the group's arrays move to that thread. */
export type EncodeGroup = (group: Group) => Promise<EncodedGroup>

/**
 * Number of rows in a row group, which is built in memory as a whole, in about 0.1 s. zstd compresses blocks of 128 KiB: with half as many
 * rows, one block would hold all bytes of a column's floats, which takes 4 % more space. Twice as many rows would take 1 % less space.
 */
const ROWS_A_GROUP = 65_536
/** `PAR1`, the four bytes at both ends of a file. */
const MAGIC = 0x31524150

/**
 * Encodes pages of rows as one Parquet file, compressed by zstd, and yields its bytes in pieces. Numbers keep every digit. Floating-point
 * numbers use BYTE_STREAM_SPLIT and whole numbers DELTA_BINARY_PACKED, which compress to half the size of plain values.
 */
export async function* encodeParquet(
  name: string,
  columns: readonly ExportColumn[],
  pages: AsyncIterable<ExportPage>,
  encode: EncodeGroup = async (group) => (await import('./parquet-group.ts')).encodeGroup(group),
): AsyncGenerator<Uint8Array> {
  // Load these modules only here, because no other format needs them.
  const [{ ByteWriter }, { writeMetadata }] = await Promise.all([
    import('hyparquet-writer/src/bytewriter.js'),
    import('hyparquet-writer/src/metadata.js'),
  ])
  const elements = columns.map(
    ({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] }),
  )
  const file = new ByteWriter()
  file.appendUint32(MAGIC)
  yield file.getBytes().slice()
  const groups: RowGroup[] = []
  let parts: ExportPage[] = []
  let rows = 0
  // While a group is encoded, the rows of the next group are read.
  let pending: Promise<EncodedGroup> | undefined
  const writeGroup = async function* () {
    if (pending) yield finishGroup(await pending)
    pending = encode({ columns, elements, parts, rows, offset: file.offset })
    // The promise may reject while rows are read; the next await throws the error.
    pending.catch(() => undefined)
    parts = []
    rows = 0
  }
  const finishGroup = ({ bytes, group }: EncodedGroup): Uint8Array => {
    groups.push(group)
    file.offset += bytes.length
    return bytes
  }
  for await (const page of pages) {
    for (let from = 0, to: number; from < page.rows; from = to) {
      to = Math.min(page.rows, from + ROWS_A_GROUP - rows)
      parts.push(to - from === page.rows ? page : cutPage(page, from, to))
      rows += to - from
      if (rows === ROWS_A_GROUP) yield* writeGroup()
    }
  }
  if (rows > 0) yield* writeGroup()
  if (pending) yield finishGroup(await pending)
  file.index = 0
  writeMetadata(file, {
    ...{ version: 2, created_by: `musette version ${VERSION}`, row_groups: groups, metadata_length: 0 },
    schema: [{ name, num_children: columns.length }, ...elements],
    num_rows: groups.reduce((sum, group) => sum + group.num_rows, 0n),
  })
  file.appendUint32(MAGIC)
  yield file.getBytes()
}

/** The schema elements of a file, by column type. */
const ELEMENTS: Readonly<Record<ExportColumn['type'], Omit<SchemaElement, 'name'>>> = {
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  float: { type: 'FLOAT' },
  double: { type: 'DOUBLE' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  wall_clock: { type: 'INT64', logical_type: { type: 'TIMESTAMP', unit: 'MICROS', isAdjustedToUTC: false } },
  instant: {
    ...{ type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
    logical_type: { type: 'TIMESTAMP', unit: 'MICROS', isAdjustedToUTC: true },
  },
}
