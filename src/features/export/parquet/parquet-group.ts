import { compress, init } from '@bokuweb/zstd-wasm'
import type { ColumnChunk, Encoding, RowGroup, SchemaElement, Statistics } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writeColumn } from 'hyparquet-writer/src/column.js'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { deltaBinaryPack } from 'hyparquet-writer/src/delta.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import type { ExportColumn, ExportPage, ExportValues } from '../rows/exported-columns.ts'

/** A row group of a file: the columns, their schema elements, and their values in several parts. */
export type Group = Readonly<{
  columns: readonly ExportColumn[]
  elements: readonly SchemaElement[]
  parts: readonly ExportPage[]
  rows: number
  /** offset of the row group in the file, bytes */
  offset: number
}>

/** The bytes of a row group, and its metadata for the end of the file. */
export type EncodedGroup = { bytes: Uint8Array<ArrayBuffer>; group: RowGroup }

type Column = Readonly<{ element: SchemaElement; parts: readonly ExportValues[]; rows: number }>
type Numbers = Exclude<ExportValues['values'], string[]>

/**
 * Encodes rows as a row group with one page per column. The library writes texts, with a dictionary if values repeat. This module writes
 * the numbers, because the library takes an array of values and nulls, which doubles the processor time of an export of samples.
 */
export function encodeGroup({ columns, elements, parts, rows, offset }: Group): EncodedGroup {
  const bytes = new ByteWriter()
  bytes.offset = offset
  const chunks = columns.map((column, index): ColumnChunk => {
    const values = parts.map((part) => part.columns[index] as ExportValues)
    const input = { element: elements[index] as SchemaElement, parts: values, rows }
    if (values[0]?.utf8) return writeUtf8(bytes, input)
    return column.type === 'text' ? writeTexts(bytes, input) : writeNumbers(bytes, input)
  })
  const sum = (of: 'total_uncompressed_size' | 'total_compressed_size') =>
    chunks.reduce((total, { meta_data: meta }) => total + (meta?.[of] ?? 0n), 0n)
  return {
    bytes: bytes.getBytes().slice(),
    group: {
      ...{ columns: chunks, num_rows: BigInt(rows), total_byte_size: sum('total_uncompressed_size') },
      total_compressed_size: sum('total_compressed_size'),
    },
  }
}

/** Page size limit for the library, bytes: larger than any page, because several pages would split the same bytes into more blocks. */
const PAGE_BYTES = 2 ** 30

function writeTexts(bytes: ByteWriter, { element, parts }: Column): ColumnChunk {
  const values: Array<string | null> = []
  const definitionLevels: number[] = []
  for (const { values: texts, nulls, isSame } of parts) {
    for (let row = 0; row < nulls.length; row++) {
      values.push(nulls[row] ? null : (texts[isSame ? 0 : row] as string))
      definitionLevels.push(nulls[row] ? 0 : 1)
    }
  }
  const encoder = {
    ...{ columnName: element.name, element, schemaPath: [element, element], codec: 'ZSTD' as const },
    ...{ compressors: { ZSTD: compressZstd }, stats: true, pageSize: PAGE_BYTES },
    ...{ columnIndex: false, offsetIndex: false },
  }
  const pageData = { values, definitionLevels, repetitionLevels: [], maxDefinitionLevel: 1 }
  return writeColumn({ writer: bytes, column: encoder, pageData }).chunk
}

/**
 * Writes texts that rarely repeat: first their lengths, then their bytes. No reader searches a range of these texts, so the texts have no
 * bounds.
 */
function writeUtf8(bytes: ByteWriter, { element, parts, rows }: Column): ColumnChunk {
  const present = new Uint8Array(rows)
  const lengths = new Int32Array(rows)
  let [row, known, size] = [0, 0, 0]
  for (const { nulls, utf8 } of parts) {
    const ends = utf8?.ends ?? []
    for (let index = 0; index < nulls.length; index++, row++) {
      if (nulls[index]) continue
      present[row] = 1
      lengths[known++] = (ends[index] as number) - (ends[index - 1] ?? 0)
    }
    size += ends[nulls.length - 1] ?? 0
  }
  const packed = new ByteWriter()
  deltaBinaryPack(packed, lengths.subarray(0, known), 'INT32')
  const body = new Uint8Array(packed.offset + size)
  body.set(packed.getBytes())
  let at = packed.offset
  for (const { nulls, utf8 } of parts) {
    const texts = utf8?.bytes.subarray(0, utf8.ends[nulls.length - 1] ?? 0) ?? new Uint8Array()
    body.set(texts, at)
    at += texts.length
  }
  return writePage(bytes, element, { encoding: 'DELTA_LENGTH_BYTE_ARRAY', body, present, known })
}

function writeNumbers(bytes: ByteWriter, { element, parts, rows }: Column): ColumnChunk {
  const { known, present } = knownOf(parts, rows)
  const statistics = boundsOf(known, rows - known.length)
  return writePage(bytes, element, { ...encodeNumbers(known), present, known: known.length, statistics })
}

type Page = Readonly<{
  encoding: Encoding
  body: Uint8Array
  /** 1 for each row with a value, 0 for NULL */
  present: Uint8Array
  /** number of rows that are not NULL */
  known: number
  statistics?: Statistics | undefined
}>

function writePage(
  bytes: ByteWriter,
  element: SchemaElement,
  { encoding, body, present, known, statistics }: Page,
): ColumnChunk {
  const start = bytes.offset
  const rows = present.length
  const levels = new ByteWriter()
  writeRleBitPackedHybrid(levels, present, 1)
  const compressed = compressZstd(body)
  writePageHeader(bytes, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levels.offset + body.length,
    compressed_page_size: levels.offset + compressed.length,
    data_page_header_v2: {
      ...{ num_values: rows, num_nulls: rows - known, num_rows: rows, encoding },
      ...{ definition_levels_byte_length: levels.offset, repetition_levels_byte_length: 0 },
      is_compressed: true,
    },
  })
  const header = bytes.offset - start
  bytes.appendBytes(levels.getBytes())
  bytes.appendBytes(compressed)
  return {
    file_offset: BigInt(start),
    meta_data: {
      ...{ type: element.type as NonNullable<typeof element.type>, encodings: [encoding], codec: 'ZSTD' },
      ...{ path_in_schema: [element.name], num_values: BigInt(rows), data_page_offset: BigInt(start) },
      total_compressed_size: BigInt(bytes.offset - start),
      total_uncompressed_size: BigInt(header + levels.offset + body.length),
      ...(statistics && { statistics }),
    },
  }
}

/** Returns the values of the parts that are not NULL, and for each row 1 if it has a value, else 0. */
function knownOf(parts: readonly ExportValues[], rows: number): { known: Numbers; present: Uint8Array } {
  const present = new Uint8Array(rows).fill(1)
  const first = parts[0]?.values as Numbers
  const known = new (first.constructor as new (length: number) => Numbers)(rows)
  let row = 0
  let count = 0
  for (const { values, nulls } of parts) {
    if (nulls.includes(1)) {
      for (let index = 0; index < nulls.length; index++) {
        if (nulls[index]) present[row + index] = 0
        else known[count++] = values[index] as never
      }
    } else {
      known.set(values as never, count)
      count += nulls.length
    }
    row += nulls.length
  }
  return { known: known.subarray(0, count), present }
}

function encodeNumbers(known: Numbers): { encoding: Encoding; body: Uint8Array } {
  if (known instanceof Float32Array || known instanceof Float64Array)
    return { encoding: 'BYTE_STREAM_SPLIT', body: splitBytes(known) }
  const packed = new ByteWriter()
  deltaBinaryPack(packed, known, known instanceof Int32Array ? 'INT32' : 'INT64')
  return { encoding: 'DELTA_BINARY_PACKED', body: packed.getBytes() }
}

/**
 * Returns the first bytes of all values, then all second bytes, and so on. Parquet is little-endian, as is every processor that Node runs
 * on.
 */
function splitBytes(values: Float32Array | Float64Array): Uint8Array {
  const width = values.BYTES_PER_ELEMENT
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const split = new Uint8Array(bytes.length)
  let to = 0
  for (let place = 0; place < width; place++)
    for (let from = place; from < bytes.length; from += width) split[to++] = bytes[from] as number
  return split
}

/**
 * Returns the bounds of whole numbers and times, by which a program that reads the file skips row groups. Returns undefined for measured
 * values: their bounds are similar in every group, so no group could be skipped.
 */
function boundsOf(known: Numbers, nulls: number): Statistics | undefined {
  if (known instanceof Float32Array || known instanceof Float64Array) return undefined
  if (known.length === 0) return { null_count: BigInt(nulls) }
  let least = known[0] as number | bigint
  let most = least
  for (const value of known) {
    if (value < least) least = value
    else if (value > most) most = value
  }
  return { null_count: BigInt(nulls), min_value: least, max_value: most }
}

// Call `init` once here: a second call would give the library a memory that its functions do not use, and its output would be wrong. Only
// the Parquet encoder loads this module, on first use.
await init()

/** Compresses bytes to one zstd frame. Level 9 takes twice the time for 0.1 to 1.4 % fewer bytes of samples. */
const compressZstd = (data: Uint8Array): Uint8Array => compress(data, 5)
