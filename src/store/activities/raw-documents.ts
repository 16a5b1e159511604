import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { copyRows, writeMoment } from '../copy.ts'
import type { Tx } from '../store.ts'

// Of an answer of 987 kB, level 1 makes 227 kB in 4.8 ms and level 6 makes 183 kB in 15.5 ms; brotli 1 makes 201 kB in
// 2.9 ms, but gzip is what every script can open. One chunk holds the whole result: each costs a turn of the event loop.
const GZIP = { level: 1, chunkSize: 512 * 1024 }

export type PackedDocument = { sha256: string; encoding: 'gzip'; body: Buffer }

/** An answer as the service sent it, and its gzip when it was sent compressed. */
type RawDocument = { document: Buffer; gzipped?: Buffer | undefined }

/** Compresses an answer off the main thread; one that was sent compressed is kept as it is. */
export async function packDocument({ document, gzipped }: RawDocument): Promise<PackedDocument> {
  const body = gzipped ?? (await promisify(gzip)(document, GZIP))
  // Half a millisecond for 987 kB; the asynchronous function copies the answer first, which costs more.
  const sha256 = createHash('sha256').update(document).digest('hex')
  return { sha256, encoding: 'gzip', body }
}

/** Records packed answers, one for each activity, in place of the earlier one. By COPY, because the driver copies every parameter twice. */
export async function recordRawDocuments(
  tx: Tx,
  documents: ReadonlyArray<{ activityId: number; fetchedAt: Date; packed: PackedDocument }>,
): Promise<void> {
  if (documents.length === 0) return
  const activityIds = documents.map(({ activityId }) => activityId)
  await tx.client.query('DELETE FROM training.raw_documents WHERE activity_id = ANY ($1)', [activityIds])
  const target = 'training.raw_documents (activity_id, fetched_at, sha256, encoding, body)'
  await copyRows(tx.client, target, encodeDocuments(documents))
}

function* encodeDocuments(
  documents: ReadonlyArray<{ activityId: number; fetchedAt: Date; packed: PackedDocument }>,
): Generator<Buffer> {
  for (const { activityId, fetchedAt, packed } of documents) {
    const [id, moment] = [Buffer.alloc(4), new DataView(new ArrayBuffer(8))]
    id.writeInt32BE(activityId)
    writeMoment(moment, 0, fetchedAt.getTime())
    const { sha256, encoding, body } = packed
    const fields = [id, Buffer.from(moment.buffer), Buffer.from(sha256), Buffer.from(encoding)]
    yield Buffer.concat([
      Buffer.from([0, 5]),
      ...fields.flatMap((field) => [length(field), field]),
      length(body),
    ])
    yield body
  }
}

function length(field: Buffer): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(field.length)
  return bytes
}
