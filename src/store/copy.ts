import { Readable } from 'node:stream'
import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'
import { dropConnection } from '../kit/postgres-client.ts'

// The signature, four bytes of flags, and four bytes for the length of the header's extension.
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
export const HEADER_BYTES = HEADER.length
const TRAILER = Buffer.from([0xff, 0xff])
const END_OF_ROWS = -1
/** From 1970 to 2000, where the times of Postgres begin. */
export const MS_TO_2000 = 946_684_800_000
const TWO_POW_32 = 2 ** 32

/** Writes encoded rows by copyIn, which must have neither the header nor the trailer of the format, and returns their number. */
export async function copyRows(
  client: pg.ClientBase,
  target: string,
  chunks: Iterable<Buffer>,
): Promise<number> {
  return await copyIn(client, `${target} FROM STDIN (FORMAT binary)`, withEnds(chunks))
}

/**
 * Runs `COPY <command>` with chunks in Postgres's binary COPY format and returns the number of rows. `command` names the table
 * with its columns; a chunk may end anywhere. The next chunk is requested only after the socket has accepted the one before.
 * The first error of Postgres, of the connection or of `chunks` ends the copy.
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
 * Reads a table, given with its columns, in Postgres's binary COPY format. A chunk may end anywhere; `rows` resolves with the number
 * of rows after the last chunk. A reader that stops early loses the connection, because a COPY cannot be left.
 */
export function copyOut(
  client: pg.ClientBase,
  source: string,
): { chunks: AsyncGenerator<Buffer>; rows(): Promise<number> } {
  const query = makeCopyQuery(`COPY ${source} TO STDOUT (FORMAT binary)`)
  async function* readChunks(): AsyncGenerator<Buffer> {
    client.query(query)
    let ended = false
    try {
      for await (const chunk of query.chunks) yield chunk
      ended = true
    } finally {
      if (!ended) dropConnection(client)
    }
  }
  return { chunks: readChunks(), rows: () => query.rows }
}

/** Reads the rows of a query without parameters by copyOut: the bytes of each field, undefined for NULL. */
export async function copyRowsOut(
  client: pg.ClientBase,
  query: string,
): Promise<Array<Array<Buffer | undefined>>> {
  const chunks: Buffer[] = []
  for await (const chunk of copyOut(client, `(${query})`).chunks) chunks.push(chunk)
  return [...decodeRows(Buffer.concat(chunks))]
}

/** Adds the header and the trailer of Postgres's binary COPY format to encoded rows. */
export function* withEnds(chunks: Iterable<Buffer>): Generator<Buffer> {
  yield HEADER
  yield* chunks
  yield TRAILER
}

/** Decodes the rows of a whole answer in Postgres's binary COPY format: the bytes of each field, undefined for NULL. */
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

/** Converts a time in ms since 1970 to microseconds since 2000, the resolution of `timestamptz`. */
export function microsOf(ms: number): number {
  return Math.round((ms - MS_TO_2000) * 1000)
}

/** The length of a field that is NULL. */
export const NULL = -1

/** Writes a double as a field of a row, its length before it, and returns where it ends; NaN becomes NULL. */
export function writeDouble(view: DataView, at: number, value: number): number {
  if (Number.isNaN(value)) {
    view.setInt32(at, NULL)
    return at + 4
  }
  view.setInt32(at, 8)
  view.setFloat64(at + 4, value)
  return at + 12
}

/** Writes a time in ms since 1970 as the eight bytes of a `timestamptz`: microseconds since 2000. */
export function writeMoment(view: DataView, at: number, ms: number): void {
  // Two halves, because a BigInt for each sample would cost more than the rest of its encoding.
  const micros = microsOf(ms)
  const high = Math.floor(micros / TWO_POW_32)
  view.setInt32(at, high)
  view.setUint32(at + 4, micros - high * TWO_POW_32)
}

async function write(stream: CopyStreamQuery, chunk: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}

// Ends the COPY at the server: it would wait for more rows, and the rollback would wait for it.
async function abandon(stream: CopyStreamQuery): Promise<void> {
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  stream.destroy(new Error('the rows could not be made'))
  await closed
}

const COPY_DATA = 'd'.charCodeAt(0)
/** Messages after which no more rows come: CopyDone and ErrorResponse. */
const LAST_MESSAGES: ReadonlySet<number | undefined> = new Set(['c'.charCodeAt(0), 'E'.charCodeAt(0)])
/** Of a message: its type, and the length of what follows the type. */
const MESSAGE_HEADER_BYTES = 5

/**
 * Makes a query for pg whose answer is read from the socket and not by the driver's parser: Postgres sends each row as a message,
 * and a buffer for each took as long as all else that is done with the rows. The rows of a packet are moved together in its buffer
 * instead. All other messages go to the driver. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
function makeCopyQuery(text: string) {
  let socket: Readable | undefined
  const chunks = new Readable({ read: () => void socket?.resume() })
  let settle: { resolve: (rows: number) => void; reject: (error: Error) => void } | undefined
  const rows = new Promise<number>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // Who reads the chunks sees the error there.
  rows.catch(() => undefined)
  return {
    chunks,
    rows,
    submit(connection: pg.Connection) {
      const { stream } = connection
      const [parse] = stream.listeners('data') as Array<(bytes: Buffer) => void>
      if (!parse) throw new TypeError('the driver does not read its connection')
      socket = stream
      const take = makeMessageReader(parse)
      const read = (bytes: Buffer) => {
        const { data, rest } = take(bytes)
        if (data.length > 0 && !chunks.push(data)) stream.pause()
        if (!rest) return
        stream.off('data', read).on('data', parse)
        parse(rest)
        stream.resume()
      }
      stream.off('data', parse).on('data', read)
      connection.query(text)
    },
    handleError(error: Error) {
      chunks.destroy(error)
      settle?.reject(error)
    },
    handleCommandComplete({ text: tag }: { text: string }) {
      // Not before: an error may come in pieces, and rows before it must not look like all of them.
      chunks.push(null)
      settle?.resolve(Number(/^COPY (\d+)/.exec(tag)?.[1]))
    },
    handleReadyForQuery() {},
  }
}

/**
 * Makes a function that takes the next bytes from the server and returns those of rows, which then lie in the same buffer without the
 * headers of their messages. Other messages go to `parse`. `rest` is what begins with the last message, once that comes.
 */
function makeMessageReader(parse: (bytes: Buffer) => void) {
  /** of the message that is being read: its bytes that are still to come, and whether they are rows */
  let left = 0
  let isRows = false
  /** the beginning of a header that was cut off */
  let cut = Buffer.alloc(0)
  return (received: Buffer): { data: Buffer; rest?: Buffer } => {
    const bytes = cut.length > 0 ? Buffer.concat([cut, received]) : received
    cut = Buffer.alloc(0)
    let kept = 0
    let at = 0
    while (at < bytes.length) {
      let start = at
      if (left === 0) {
        if (bytes.length - at < MESSAGE_HEADER_BYTES) {
          cut = Buffer.from(bytes.subarray(at))
          break
        }
        if (LAST_MESSAGES.has(bytes[at])) return { data: bytes.subarray(0, kept), rest: bytes.subarray(at) }
        isRows = bytes[at] === COPY_DATA
        left = bytes.readUInt32BE(at + 1) + 1 - MESSAGE_HEADER_BYTES
        at += MESSAGE_HEADER_BYTES
        if (isRows) start = at
      }
      const end = Math.min(bytes.length, at + left)
      left -= end - at
      at = end
      if (isRows) {
        bytes.copyWithin(kept, start, end)
        kept += end - start
      } else parse(bytes.subarray(start, end))
    }
    return { data: bytes.subarray(0, kept) }
  }
}
