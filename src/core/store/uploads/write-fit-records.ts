import { getTableColumns } from 'drizzle-orm'
import { BYTES_A_CHARACTER } from '../../../kit/text.ts'
import { compareRows, copyRows, NULL, withEnds, writeMoment } from '../copy.ts'
import { fitRecords } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

const COLUMNS = getTableColumns(fitRecords)

/** A column of a record with a value: all but its file and its number. */
export type RecordColumn = Exclude<keyof typeof COLUMNS, 'fileId' | 'position'>

/** The records of a file by column, those without any value left out. `t` is ms since 1970; NaN stands for NULL. */
export type RecordRows = Readonly<{
  count: number
  columns: Readonly<Partial<Record<RecordColumn, Float64Array>>>
}>

/** A row of fit_messages; `t` is ms since 1970, NaN for NULL. */
export type MessageRow = Readonly<{
  record: number
  t: number
  message: string
  event: string | null
  eventType: string | null
  fields: Json
}>

/** Rows made while they are read, because a day has megabytes. */
export type MadeRows<Row> = Iterable<Row> & { readonly length: number }

/** The rows of a file in fit_records and fit_messages. */
export type RecordedRows = Readonly<{ records: RecordRows; messages: MadeRows<MessageRow> }>

/** Writes the records and messages of a file that has none, by COPY. */
export async function insertRecorded(tx: Tx, fileId: number, { records, messages }: RecordedRows) {
  const { names, chunks } = encodeRecords(fileId, records)
  if (records.count > 0) await copyRows(tx.client, `training.fit_records (${names.join(', ')})`, chunks)
  if (messages.length > 0)
    await copyRows(tx.client, `training.fit_messages (${MESSAGE_COLUMNS})`, encodeMessages(fileId, messages))
}

/**
 * Writes the records and messages of a file in place of those that are there, when they differ, and returns whether they did.
 */
export async function replaceRecorded(tx: Tx, fileId: number, rows: RecordedRows): Promise<boolean> {
  if ((await holdsRecords(tx, fileId, rows.records)) && (await holdsMessages(tx, fileId, rows.messages)))
    return false
  for (const table of ['fit_records', 'fit_messages'])
    await tx.client.query(`DELETE FROM training.${table} WHERE file_id = $1`, [fileId])
  await insertRecorded(tx, fileId, rows)
  return true
}

/** Whether a file has these records, or begins with them. */
export async function holdsRecords(
  tx: Tx,
  fileId: number,
  records: RecordRows,
  which: 'all' | 'first' = 'all',
): Promise<boolean> {
  const { names, chunks } = encodeRecords(fileId, records)
  const others = Object.values(COLUMNS).flatMap(({ name }) => (names.includes(name) ? [] : [name]))
  // A value in a column that should be empty also makes a difference.
  const key =
    others.length > 0 ? `CASE WHEN num_nonnulls(${others.join(', ')}) = 0 THEN file_id END` : 'file_id'
  const selected = names.map((name) => (name === 'file_id' ? key : name))
  const limit = which === 'first' ? ` LIMIT ${records.count}` : ''
  const query = `SELECT ${selected.join(', ')} FROM training.fit_records WHERE file_id = ${Number(fileId)} ORDER BY position${limit}`
  return (
    await compareRows(
      tx.client,
      query,
      Buffer.concat(Array.from(withEnds(chunks), (chunk) => Buffer.from(chunk))),
    )
  ).same
}

async function holdsMessages(tx: Tx, fileId: number, messages: MadeRows<MessageRow>): Promise<boolean> {
  const { rows } = await tx.client.query<{ same: boolean }>(
    `SELECT count(*) = $2::int AND coalesce(bool_and(
       (m.record, m.t, m.message, m.event, m.event_type, m.fields) IS NOT DISTINCT FROM
       (w.record, to_timestamp(w.t / 1000), w.message, w.event, w."eventType", w.fields)), true) AS same
     FROM (SELECT * FROM training.fit_messages WHERE file_id = $1) m
       FULL JOIN jsonb_to_recordset($3::jsonb) AS w (position int, record int, t float8, message text, event text, "eventType" text, fields jsonb)
       USING (position)`,
    [
      fileId,
      messages.length,
      JSON.stringify(Array.from(messages, (row, index) => ({ ...row, position: index + 1 }))),
    ],
  )
  return rows[0]?.same ?? false
}

const CHUNK_BYTES = 256 * 1_024

type Writer = (view: DataView, at: number, row: number) => number

/** Encodes records for COPY: the names of the columns that have a value, and the rows. */
function encodeRecords(fileId: number, { count, columns }: RecordRows) {
  const filled = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).flatMap(
    (key): Array<{ name: string; write: Writer }> => {
      const { name } = COLUMNS[key]
      if (key === 'fileId') return [{ name, write: (view, at) => writeInteger(view, at, fileId) }]
      if (key === 'position') return [{ name, write: (view, at, row) => writeInteger(view, at, row + 1) }]
      const values = columns[key]
      return values ? [{ name, write: WRITERS[COLUMNS[key].columnType](values) }] : []
    },
  )
  const writers = filled.map(({ write }) => write)
  return { names: filled.map(({ name }) => name), chunks: makeChunks(count, writers) }
}

function* makeChunks(count: number, writers: readonly Writer[]): Generator<Buffer> {
  const mostBytes = 2 + writers.length * 12
  const rowsAChunk = Math.floor(CHUNK_BYTES / mostBytes)
  // Two in turn, of which copyIn has sent one before it asks for the next: new ones would be 35 MB for a day of every sensor.
  const [first, second] = [makeChunk(CHUNK_BYTES), makeChunk(CHUNK_BYTES)]
  for (let from = 0; from < count; from += rowsAChunk) {
    const to = Math.min(count, from + rowsAChunk)
    const { bytes, view } = (from / rowsAChunk) % 2 === 0 ? first : second
    let at = 0
    for (let row = from; row < to; row++) {
      view.setInt16(at, writers.length)
      at += 2
      for (const write of writers) at = write(view, at, row)
    }
    yield bytes.subarray(0, at)
  }
}

/** Writes NULL for NaN, else a field of so many bytes. */
function writeField(
  values: Float64Array,
  bytes: 2 | 4 | 8,
  set: (view: DataView, at: number, value: number) => void,
): Writer {
  return (view, at, row) => {
    const value = values[row] as number
    if (Number.isNaN(value)) {
      view.setInt32(at, NULL)
      return at + 4
    }
    view.setInt32(at, bytes)
    set(view, at + 4, value)
    return at + 4 + bytes
  }
}

function writeInteger(view: DataView, at: number, value: number): number {
  view.setInt32(at, 4)
  view.setInt32(at + 4, value)
  return at + 8
}

const WRITERS = {
  PgTimestamp: (values: Float64Array) => writeField(values, 8, writeMoment),
  PgDoublePrecision: (values: Float64Array) =>
    writeField(values, 8, (view, at, value) => view.setFloat64(at, value)),
  PgReal: (values: Float64Array) => writeField(values, 4, (view, at, value) => view.setFloat32(at, value)),
  PgSmallInt: (values: Float64Array) => writeField(values, 2, (view, at, value) => view.setInt16(at, value)),
}

const MESSAGE_COLUMNS = 'file_id, position, record, t, message, event, event_type, fields'
const MESSAGE_COLUMN_COUNT = MESSAGE_COLUMNS.split(',').length
/** The version of jsonb in binary COPY stands before its text. */
const JSONB_VERSION = '\u0001'
/** Room for the number of columns, their lengths, and the values of four that are not texts. */
const MESSAGE_BYTES = 2 + MESSAGE_COLUMN_COUNT * 4 + 3 * 4 + 8

function* encodeMessages(fileId: number, messages: Iterable<MessageRow>): Generator<Buffer> {
  const time = new Float64Array(1)
  const writeTime = WRITERS.PgTimestamp(time)
  let chunk = makeChunk(CHUNK_BYTES)
  let at = 0
  let position = 0
  for (const { record, t, message, event, eventType, fields } of messages) {
    position += 1
    time[0] = t
    const texts = [message, event, eventType, JSONB_VERSION + JSON.stringify(fields)]
    const characters = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
    const mostBytes = MESSAGE_BYTES + characters * BYTES_A_CHARACTER
    if (at + mostBytes > chunk.bytes.length) {
      yield chunk.bytes.subarray(0, at)
      chunk = makeChunk(Math.max(CHUNK_BYTES, mostBytes))
      at = 0
    }
    at = chunk.bytes.writeInt16BE(MESSAGE_COLUMN_COUNT, at)
    for (const number of [fileId, position, record]) at = writeInteger(chunk.view, at, number)
    at = writeTime(chunk.view, at, 0)
    for (const text of texts) at = writeText(chunk.bytes, at, text)
  }
  yield chunk.bytes.subarray(0, at)
}

function makeChunk(size: number): { bytes: Buffer; view: DataView } {
  const bytes = Buffer.allocUnsafeSlow(size)
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
}

function writeText(chunk: Buffer, at: number, text: string | null): number {
  if (text === null) return chunk.writeInt32BE(NULL, at)
  const bytes = chunk.write(text, at + 4)
  return chunk.writeInt32BE(bytes, at) + bytes
}
