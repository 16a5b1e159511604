import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { eq } from 'drizzle-orm'
import { UnexpectedResponseError } from '../kit/errors.ts'
import { rawDocuments } from './schema/index.ts'
import type { Tx } from './store.ts'

// Of an answer of 987 kB, level 1 makes 227 kB in 4.8 ms and level 6 makes 183 kB in 15.5 ms; brotli 1 makes 201 kB in
// 2.9 ms, but gzip is what every script can open. One chunk holds the whole result: each costs a turn of the event loop.
const GZIP = { level: 1, chunkSize: 512 * 1024 }

export type PackedDocument = { sha256: string; encoding: 'gzip'; body: Buffer }

/** An answer as the service sent it, and the gzip in which it came, if it did. */
export type RawDocument = { document: Buffer; gzipped?: Buffer | undefined }

/** Compresses an answer off the main thread, unless it came compressed: then that is kept as it is. */
export async function packDocument({ document, gzipped }: RawDocument): Promise<PackedDocument> {
  const body = gzipped ?? (await promisify(gzip)(document, GZIP))
  return { sha256: createHash('sha256').update(document).digest('hex'), encoding: 'gzip', body }
}

/** Keeps a packed answer as the one raw document of an activity. */
export async function recordRawDocument(
  tx: Tx,
  input: { activityId: number; fetchedAt: Date; packed: PackedDocument },
): Promise<void> {
  const { activityId, fetchedAt, packed } = input
  await tx.client.query(
    `insert into training.raw_documents (activity_id, fetched_at, sha256, encoding, body) values ($1, $2, $3, $4, $5)
     on conflict (activity_id) do update set fetched_at = excluded.fetched_at, sha256 = excluded.sha256,
       encoding = excluded.encoding, body = excluded.body`,
    [activityId, fetchedAt, packed.sha256, packed.encoding, packed.body],
  )
}

/** Finds the raw document of an activity, decompressed; undefined when none is kept. */
export async function readRawDocument(tx: Tx, activityId: number): Promise<Buffer | undefined> {
  const [row] = await tx.db.select().from(rawDocuments).where(eq(rawDocuments.activityId, activityId))
  if (!row) return undefined
  if (row.encoding === 'identity') return row.body
  if (row.encoding === 'gzip') return await promisify(gunzip)(row.body)
  const message = `store, read the raw document of activity ${activityId}: unknown encoding ${row.encoding}`
  throw new UnexpectedResponseError('raw_document_encoding', message)
}
