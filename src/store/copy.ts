import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'

// The signature, four bytes of flags and four of the length of the header's extension.
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const TRAILER = Buffer.from([0xff, 0xff])
const MS_TO_2000 = 946_684_800_000
const TWO_POW_32 = 2 ** 32

/**
 * Writes rows, encoded as Postgres's binary COPY has them and cut anywhere into chunks, and returns their number. `target`
 * is the table and its columns. A chunk is made only when the socket has taken the one before; the first error of Postgres
 * or of the connection ends it.
 */
export async function copyRows(
  client: pg.PoolClient,
  target: string,
  chunks: Iterable<Buffer>,
): Promise<number> {
  const stream = client.query(copyFrom(`COPY ${target} FROM STDIN (FORMAT binary)`))
  let refused: { error: unknown } | undefined
  const failed = new Promise<never>((_, reject) => {
    stream.on('error', (error) => {
      refused ??= { error }
      reject(error)
    })
  })
  // The connection may fail while nothing waits for this; whoever waits next learns of it.
  failed.catch(() => undefined)
  const finished = new Promise<void>((resolve) => stream.once('finish', resolve))
  try {
    for (const chunk of withEnds(chunks)) {
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

function* withEnds(chunks: Iterable<Buffer>): Generator<Buffer> {
  yield HEADER
  yield* chunks
  yield TRAILER
}

/** The microseconds since 2000 of a moment, ms since 1970: what a `timestamptz` tells apart. */
export function microsOf(ms: number): number {
  return Math.round((ms - MS_TO_2000) * 1000)
}

/** Writes a moment, ms since 1970, as the eight bytes of a `timestamptz`: microseconds since 2000. */
export function writeMoment(view: DataView, at: number, ms: number): void {
  // As two halves: a BigInt for each sample would cost more than the rest of it.
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

// Postgres must be told that no more will come, or it waits for the rest, and the rollback waits behind it.
async function abandon(stream: CopyStreamQuery): Promise<void> {
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  stream.destroy(new Error('the rows could not be encoded'))
  await closed
}
