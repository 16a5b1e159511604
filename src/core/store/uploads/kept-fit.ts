import { and, asc, eq, getTableColumns, gt, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import {
  compareRows,
  copyRows,
  withEnds,
  writeDouble,
  writeInteger,
  writeMoment,
  writeNull,
} from '../copy.ts'
import {
  fitDevices,
  fitFields,
  fitFiles,
  fitLaps,
  fitOriginals,
  fitRecords,
  fitSessions,
} from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'
import type { UploadKey } from './uploads.ts'

/** A row without its file's key. */
type OfFile<Row> = Omit<Row, 'accountId' | 'contentId'>

export type FitRows = {
  file: OfFile<typeof fitFiles.$inferInsert>
  sessions: OfFile<typeof fitSessions.$inferInsert>[]
  laps: OfFile<typeof fitLaps.$inferInsert>[]
  devices: OfFile<typeof fitDevices.$inferInsert>[]
  fields: MadeRows<OfFile<typeof fitFields.$inferInsert>>
} & RecordedRows

/** Version of the rows made from FIT files, raised whenever the rows hold more data. */
export const FIT_READER_VERSION = 4

/**
 * Counts the FIT files that an earlier version read. A rebuild reads the `kept` files again; the `gone` files are read only if they are
 * imported again.
 */
export async function findOutdatedFit(tx: Tx): Promise<{ kept: number; gone: number }> {
  const { rows } = await tx.client.query<{ kept: number; gone: number }>(
    `select count(o.content_id)::int as kept, (count(*) - count(o.content_id))::int as gone
     from training.fit_files f left join training.fit_originals o using (account_id, content_id) where f.reader_version < $1`,
    [FIT_READER_VERSION],
  )
  return rows[0] ?? { kept: 0, gone: 0 }
}

/** Maximum rows per statement, which takes 65,535 values: a row has about 35. A row of fit_fields has lists of a day. */
const ROWS_AT_ONCE = 1_000

/** Records a FIT file's content in the ledger, and reports whether the content is new. A known file stays unchanged. */
export async function recordFit(tx: Tx, key: UploadKey, rows: FitRows): Promise<boolean> {
  const own = { accountId: key.accountId, contentId: key.contentId }
  const made = await tx.db
    .insert(fitFiles)
    .values({ ...rows.file, ...own })
    .onConflictDoNothing()
    .returning({ fileId: fitFiles.fileId })
  if (!made[0]) return false
  for (const part of PART_NAMES)
    for (const some of pages<object>(rows[part], part === 'fields' ? 1 : ROWS_AT_ONCE))
      await tx.db.insert(PARTS[part]).values(some.map((row) => ({ ...row, ...own })) as never)
  await insertRecorded(tx, made[0].fileId, rows)
  return true
}

/** The tables for the parts of a file, in which each row has a position. */
const PARTS = { sessions: fitSessions, laps: fitLaps, devices: fitDevices, fields: fitFields } as const
const PART_NAMES = ['sessions', 'laps', 'devices', 'fields'] as const

/** Replaces the rows of a known FIT file; a row that is already right is not rewritten. */
export async function replaceFit(tx: Tx, key: UploadKey, rows: FitRows): Promise<void> {
  const own = { accountId: key.accountId, contentId: key.contentId }
  const { readAt, ...file } = rows.file
  await tx.db
    .update(fitFiles)
    .set(file)
    .where(and(isOf(fitFiles, own), differs(fitFiles, file)))
  for (const part of PART_NAMES) {
    const table = PARTS[part]
    await tx.db.delete(table).where(and(isOf(table, own), gt(table.position, rows[part].length)))
    for (const row of rows[part]) {
      await tx.db
        .insert(table)
        .values({ ...row, ...own } as never)
        .onConflictDoUpdate({
          target: [table.accountId, table.contentId, table.position],
          set: row,
          setWhere: differs(table, row),
        })
    }
  }
  const [known] = await tx.db.select({ fileId: fitFiles.fileId }).from(fitFiles).where(isOf(fitFiles, own))
  if (known && (await replaceRecorded(tx, known.fileId, rows)))
    await tx.db.update(fitFiles).set({ readAt }).where(isOf(fitFiles, own))
}

type FitTable = typeof fitFiles | (typeof PARTS)[keyof typeof PARTS]

function isOf(table: FitTable | typeof fitOriginals, own: UploadKey) {
  return and(eq(table.accountId, own.accountId), eq(table.contentId, own.contentId))
}

function differs(table: FitTable, row: object): SQL {
  const columns: Readonly<Record<string, AnyPgColumn | undefined>> = getTableColumns(table)
  const differences = Object.entries(row).flatMap(([name, value]) => {
    const column = columns[name]
    return column ? [sql`${column} is distinct from ${sql.param(value, column)}`] : []
  })
  return sql`(${sql.join(differences, sql` or `)})`
}

/** Finds the keys of an account's stored FIT files, in a fixed order. */
export async function findFitOriginalKeys(tx: Tx, accountId: number): Promise<UploadKey[]> {
  return await tx.db
    .select({ accountId: fitOriginals.accountId, contentId: fitOriginals.contentId })
    .from(fitOriginals)
    .where(eq(fitOriginals.accountId, accountId))
    .orderBy(asc(fitOriginals.contentId))
}

/** Finds a FIT file's stored bytes, compressed with gzip. Returns undefined if there are none. */
export async function findFitBody(tx: Tx, key: UploadKey): Promise<Buffer | undefined> {
  const [row] = await tx.db
    .select({ body: fitOriginals.body })
    .from(fitOriginals)
    .where(isOf(fitOriginals, key))
  return row?.body
}

/** Stores the bytes of a FIT file that recordFit knows; `body` is compressed with gzip. Bytes that are already stored stay unchanged. */
export async function recordFitOriginal(tx: Tx, key: UploadKey, body: Buffer): Promise<void> {
  const { accountId, contentId } = key
  await tx.db
    .insert(fitOriginals)
    .values({ accountId, contentId, encoding: 'gzip', body })
    .onConflictDoNothing()
}

/** Finds the files, other than this content, that were sent for activities with this start, each with its device. */
export async function findSentFiles(
  tx: Tx,
  { accountId, contentId, startedAt }: UploadKey & { startedAt: Date },
) {
  type Sent = { fileName: string; path: string | null; fileId: number; records: number; device: string }
  const { rows } = await tx.client.query<Sent>(
    `select u.file_name as "fileName", u.activity_path as path, f.file_id as "fileId", f.records,
       concat_ws(' ', f.manufacturer, f.product_number, f.serial_number) as device
     from training.uploads u join training.fit_files f using (account_id, content_id)
     where account_id = $1 and content_id <> $2 and u.started_at = $3 and u.state not in ('seen', 'refused')`,
    [accountId, contentId, startedAt],
  )
  return rows
}

/** Reports whether a FIT file's rows are stored as this version reads them, and whether its bytes are stored. */
export async function findFitKept(tx: Tx, key: UploadKey): Promise<{ isRead: boolean; hasBytes: boolean }> {
  const { rows } = await tx.client.query<{ isRead: boolean; hasBytes: boolean }>(
    `select exists (select from training.fit_files where account_id = $1 and content_id = $2 and reader_version >= $3) as "isRead",
       exists (select from training.fit_originals where account_id = $1 and content_id = $2) as "hasBytes"`,
    [key.accountId, key.contentId, FIT_READER_VERSION],
  )
  return rows[0] ?? { isRead: false, hasBytes: false }
}

/**
 * Finds the bytes of the FIT file that an activity came from, compressed with gzip. Returns undefined if no bytes are stored. Of several
 * files, returns the first with stored bytes, in the order of the view ride_files.
 */
export async function findFitOriginal(tx: Tx, { activityId }: { activityId: number }) {
  const { rows } = await tx.client.query<{ fileName: string; contentId: string; body: Buffer }>(
    `select u.file_name as "fileName", content_id as "contentId", o.body
     from training.uploads u join training.fit_files f using (account_id, content_id)
       join training.fit_originals o using (account_id, content_id)
     where u.activity_id = $1
     order by u.state = 'duplicate', f.problem is not null, u.seen_at, content_id limit 1`,
    [activityId],
  )
  return rows[0]
}

function* pages<T>(rows: Iterable<T>, size: number): Generator<readonly T[]> {
  let page: T[] = []
  for (const row of rows) {
    page.push(row)
    if (page.length < size) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

const COLUMNS = getTableColumns(fitRecords)

/** A value column of a record: every column except its file and its position. */
export type RecordColumn = Exclude<keyof typeof COLUMNS, 'fileId' | 'position'>

/** The records of a file by column, without columns that have no value. `t` is ms since 1970; NaN stands for NULL. */
type RecordRows = Readonly<{
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

/** Rows that are generated while they are read, because a day takes megabytes. */
export type MadeRows<Row> = Iterable<Row> & { readonly length: number }

type RecordedRows = Readonly<{ records: RecordRows; messages: MadeRows<MessageRow> }>

/** Writes the records and messages of a file that has none yet. Uses COPY for the records. */
async function insertRecorded(tx: Tx, fileId: number, { records, messages }: RecordedRows) {
  const { names, chunks } = encodeRecords(fileId, records)
  if (records.count > 0) await copyRows(tx.client, `training.fit_records (${names.join(', ')})`, chunks)
  await insertMessages(tx, fileId, messages)
}

/** Replaces a file's records and messages if they differ, and reports whether they differed. */
async function replaceRecorded(tx: Tx, fileId: number, rows: RecordedRows): Promise<boolean> {
  if ((await holdsRecords(tx, fileId, rows.records)) && (await holdsMessages(tx, fileId, rows.messages)))
    return false
  for (const table of ['fit_records', 'fit_messages'])
    await tx.client.query(`DELETE FROM training.${table} WHERE file_id = $1`, [fileId])
  await insertRecorded(tx, fileId, rows)
  return true
}

/** Reports whether a file has exactly these records, or begins with them (`first`). */
export async function holdsRecords(
  tx: Tx,
  fileId: number,
  records: RecordRows,
  which: 'all' | 'first' = 'all',
): Promise<boolean> {
  const { names, chunks } = encodeRecords(fileId, records)
  const others = Object.values(COLUMNS).flatMap(({ name }) => (names.includes(name) ? [] : [name]))
  // A value in a column that should be empty counts as a difference.
  const key =
    others.length > 0 ? `CASE WHEN num_nonnulls(${others.join(', ')}) = 0 THEN file_id END` : 'file_id'
  const selected = names.map((name) => (name === 'file_id' ? key : name))
  const limit = which === 'first' ? ` LIMIT ${records.count}` : ''
  const query = `SELECT ${selected.join(', ')} FROM training.fit_records WHERE file_id = ${Number(fileId)} ORDER BY position${limit}`
  const expected = Buffer.concat(Array.from(withEnds(chunks), (chunk) => Buffer.from(chunk)))
  return (await compareRows(tx.client, query, expected)).same
}

/** The rows of the JSON array `$2`. */
const SENT_MESSAGES = `jsonb_to_recordset($2::jsonb)
  AS w (position int, record int, t float8, message text, event text, "eventType" text, fields jsonb)`

async function holdsMessages(tx: Tx, fileId: number, messages: MadeRows<MessageRow>): Promise<boolean> {
  const { rows } = await tx.client.query<{ same: boolean }>(
    `SELECT count(*) = $3::int AND coalesce(bool_and(
       (m.record, m.t, m.message, m.event, m.event_type, m.fields) IS NOT DISTINCT FROM
       (w.record, to_timestamp(w.t / 1000), w.message, w.event, w."eventType", w.fields)), true) AS same
     FROM (SELECT * FROM training.fit_messages WHERE file_id = $1) m FULL JOIN ${SENT_MESSAGES} USING (position)`,
    [fileId, JSON.stringify([...numbered(messages)]), messages.length],
  )
  return rows[0]?.same ?? false
}

async function insertMessages(tx: Tx, fileId: number, messages: Iterable<MessageRow>): Promise<void> {
  for (const some of pages(numbered(messages), ROWS_AT_ONCE))
    await tx.client.query(
      `INSERT INTO training.fit_messages (file_id, position, record, t, message, event, event_type, fields)
       SELECT $1, position, record, to_timestamp(t / 1000), message, event, "eventType", fields FROM ${SENT_MESSAGES}`,
      [fileId, JSON.stringify(some)],
    )
}

function* numbered(messages: Iterable<MessageRow>): Generator<MessageRow & { position: number }> {
  let position = 0
  for (const row of messages) yield { ...row, position: ++position }
}

const CHUNK_BYTES = 256 * 1_024

type Writer = (view: DataView, at: number, row: number) => number

/** Encodes records for COPY. Returns the names of the columns that have a value, and the rows. */
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
  // Two buffers in turn: copyIn has sent one chunk before it requests the next. New buffers would take 35 MB for a day of every sensor.
  const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)] as const
  for (let from = 0; from < count; from += rowsAChunk) {
    const to = Math.min(count, from + rowsAChunk)
    const bytes = buffers[(from / rowsAChunk) % 2 === 0 ? 0 : 1]
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    for (let row = from; row < to; row++) {
      view.setInt16(at, writers.length)
      at += 2
      for (const write of writers) at = write(view, at, row)
    }
    yield bytes.subarray(0, at)
  }
}

/** Makes a writer of fields with this many bytes; NaN becomes NULL. */
function writeField(
  values: Float64Array,
  bytes: 2 | 4 | 8,
  set: (view: DataView, at: number, value: number) => void,
): Writer {
  return (view, at, row) => {
    const value = values[row] as number
    if (Number.isNaN(value)) return writeNull(view, at)
    view.setInt32(at, bytes)
    set(view, at + 4, value)
    return at + 4 + bytes
  }
}

const WRITERS = {
  PgTimestamp: (values: Float64Array) => writeField(values, 8, writeMoment),
  PgDoublePrecision: (values: Float64Array): Writer => {
    return (view, at, row) => writeDouble(view, at, values[row] as number)
  },
  PgReal: (values: Float64Array) => writeField(values, 4, (view, at, value) => view.setFloat32(at, value)),
  PgSmallInt: (values: Float64Array) => writeField(values, 2, (view, at, value) => view.setInt16(at, value)),
}
