import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'

/**
 * Sends `chunks` down a COPY … FROM STDIN statement and returns the number of rows. A chunk is made only when the
 * socket has taken the one before; the first error of Postgres or of the connection ends it.
 */
export async function copyChunks(
  client: pg.PoolClient,
  statement: string,
  chunks: Iterable<Buffer>,
): Promise<number> {
  const stream = client.query(copyFrom(statement))
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
    for (const chunk of chunks) {
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

async function write(stream: CopyStreamQuery, chunk: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}

// Postgres must be told that no more will come, or it waits for the rest, and the rollback waits behind it.
async function abandon(stream: CopyStreamQuery): Promise<void> {
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  stream.destroy(new Error('the samples could not be encoded'))
  await closed
}
