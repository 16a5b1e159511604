import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { dropConnection } from '../../kit/postgres-client.ts'

// The signature, four bytes of flags, and four bytes for the length of the header extension.
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
export const HEADER_BYTES = HEADER.length
const TRAILER = Buffer.from([0xff, 0xff])
const END_OF_ROWS = -1
/** The epoch of Postgres (2000), ms since 1970. */
export const MS_TO_2000 = 946_684_800_000
const TWO_POW_32 = 2 ** 32

/** Writes encoded rows with copyIn and returns their number. Adds the header and the trailer of the format. */
export async function copyRows(client: pg.ClientBase, target: string, chunks: Iterable<Buffer>) {
  return await copyIn(client, `${target} FROM STDIN (FORMAT binary)`, withEnds(chunks))
}

/**
 * Runs `COPY <command>` with chunks in Postgres's binary COPY format and returns the number of rows. `command` names the table and its
 * columns; a chunk may end anywhere. Requests the next chunk only after the socket has accepted the previous one. The first error of
 * Postgres, of the connection or of `chunks` ends the copy.
 */
export async function copyIn(
  client: pg.ClientBase,
  command: string,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<number> {
  const stream = client.query(copyFrom(`COPY ${command}`))
  let refused: { error: unknown } | undefined
  const failed = new Promise<never>((_, reject) => {
    stream.on('error', (error) => {
      refused ??= { error }
      reject(error)
    })
  })
  // The connection may fail while nothing awaits this promise; the next await throws the error.
  failed.catch(() => undefined)
  const finished = new Promise<void>((resolve) => stream.once('finish', resolve))
  try {
    for await (const chunk of chunks) {
      if (refused) break
      await Promise.race([write(stream, chunk), failed])
    }
  } catch (error) {
    if (!refused) await abandon(stream)
    throw error
  }
  if (!refused) stream.end()
  await Promise.race([finished, failed])
  return stream.rowCount
}

/**
 * Reads a table with its columns, or a query, in Postgres's binary COPY format. A chunk may end anywhere; `rows` resolves with the number
 * of rows after the last chunk. A reader that stops early loses the connection, because a COPY must be read to its end.
 */
export function copyOut(client: pg.ClientBase, source: string) {
  const stream = copyTo(`COPY ${source} TO STDOUT (FORMAT binary)`)
  async function* readChunks(): AsyncGenerator<Buffer> {
    let ended = false
    try {
      for await (const chunk of client.query(stream)) yield chunk
      ended = true
    } finally {
      if (!ended) dropConnection(client)
    }
  }
  const countRows = async () => {
    // The row count arrives after the last row; an empty query completes after it.
    await client.query('')
    return stream.rowCount
  }
  return { chunks: readChunks(), rows: countRows }
}

/** Reads the rows of a query without parameters with copyOut. Each field is its bytes, or undefined for NULL. */
export async function copyRowsOut(client: pg.ClientBase, query: string) {
  return [...decodeRows(await readBytes(client, query))]
}

/** Reads everything that copyOut returns for a query without parameters. */
export async function readBytes(client: pg.ClientBase, query: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of copyOut(client, `(${query})`).chunks) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Reports whether copyOut returns exactly the bytes `expected` for a query without parameters; `bytes` is how many it returned. */
export async function compareRows(client: pg.ClientBase, query: string, expected: Buffer) {
  let same = true
  let bytes = 0
  for await (const chunk of copyOut(client, `(${query})`).chunks) {
    same &&= chunk.equals(expected.subarray(bytes, bytes + chunk.length))
    bytes += chunk.length
  }
  return { same: same && bytes === expected.length, bytes }
}

/** Adds the header and the trailer of Postgres's binary COPY format to encoded rows. */
export function* withEnds(chunks: Iterable<Buffer>): Generator<Buffer> {
  yield HEADER
  yield* chunks
  yield TRAILER
}

/** Decodes the rows of a complete binary COPY. Each field is its bytes, or undefined for NULL. */
export function* decodeRows(bytes: Buffer): Generator<Array<Buffer | undefined>> {
  let at = HEADER_BYTES
  for (let fields = bytes.readInt16BE(at); fields !== END_OF_ROWS; fields = bytes.readInt16BE(at)) {
    at += 2
    const row: Array<Buffer | undefined> = []
    for (; row.length < fields; at += 4 + Math.max(0, bytes.readInt32BE(at))) {
      const length = bytes.readInt32BE(at)
      row.push(length === NULL ? undefined : bytes.subarray(at + 4, at + 4 + length))
    }
    yield row
  }
}

/** Converts a time in ms since 1970 to microseconds since 2000, as in `timestamptz`. */
export function microsOf(ms: number): number {
  return Math.round((ms - MS_TO_2000) * 1000)
}

/** The length that marks a field as NULL. */
export const NULL = -1

/** Writes a NULL field and returns the offset after it. */
export function writeNull(view: DataView, at: number): number {
  view.setInt32(at, NULL)
  return at + 4
}

/** Writes a four-byte integer as a field and returns the offset after it. */
export function writeInteger(view: DataView, at: number, value: number): number {
  view.setInt32(at, 4)
  view.setInt32(at + 4, value)
  return at + 8
}

/** Writes a double as a field, its length first, and returns the offset after it; NaN becomes NULL. */
export function writeDouble(view: DataView, at: number, value: number): number {
  if (Number.isNaN(value)) return writeNull(view, at)
  view.setInt32(at, 8)
  view.setFloat64(at + 4, value)
  return at + 12
}

/** Writes a time in ms since 1970 as the eight bytes of a `timestamptz`: microseconds since 2000. */
export function writeMoment(view: DataView, at: number, ms: number): void {
  // Writes two halves, because a BigInt for each sample would cost more than the rest of the encoding.
  const micros = microsOf(ms)
  const high = Math.floor(micros / TWO_POW_32)
  view.setInt32(at, high)
  view.setUint32(at + 4, micros - high * TWO_POW_32)
}

/** Reads a `timestamptz` as ms since 1970; microseconds become a fraction. */
export function momentOf(field: Buffer): number {
  return MS_TO_2000 + Number(field.readBigInt64BE()) / 1000
}

async function write(stream: CopyStreamQuery, chunk: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}

// Ends the COPY at the server, which would otherwise wait for more rows while the rollback waits for the server.
async function abandon(stream: CopyStreamQuery): Promise<void> {
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  stream.destroy(new Error('the rows could not be produced'))
  await closed
}
