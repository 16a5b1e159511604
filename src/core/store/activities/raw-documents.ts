import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { inArray } from 'drizzle-orm'
import { decodeGzip } from '../../../kit/decode-gzip.ts'
import { errorCode, MusetteError } from '../../../kit/errors.ts'
import { copyRowsOut } from '../copy.ts'
import { rawDocuments } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** An answer in `training.raw_documents`; `sha256` is of the uncompressed answer, hex. */
export type PackedDocument = { sha256: string; encoding: string; body: Buffer }

/** An answer as the service sent it, and its gzip when it was sent compressed. */
type RawDocument = { document: Buffer; gzipped?: Buffer | undefined }

// Of an answer of 987 kB, level 1 makes 227 kB in 4.8 ms and level 6 makes 183 kB in 15.5 ms; brotli 1 makes 201 kB in
// 2.9 ms, but gzip is what every script can open. One chunk holds the whole result: each costs a turn of the event loop.
const GZIP = { level: 1, chunkSize: 512 * 1024 }

/** Compresses an answer off the main thread; keeps one that was sent compressed. */
export async function packDocument({ document, gzipped }: RawDocument): Promise<PackedDocument> {
  const body = gzipped ?? (await promisify(gzip)(document, GZIP))
  return { sha256: checksumOf(document), encoding: 'gzip', body }
}

/**
 * Decompresses a stored answer, to at most `maxBytes`, and compares it with its checksum. Throws MusetteError `document_damaged` with the
 * fault.
 */
export async function unpackDocument({ sha256, encoding, body }: PackedDocument, maxBytes: number) {
  const document = encoding === 'identity' ? body : await unpackGzip(encoding, body, maxBytes)
  if (checksumOf(document) !== sha256) throw damaged('it does not have its checksum')
  return document
}

async function unpackGzip(encoding: string, body: Buffer, maxBytes: number): Promise<Buffer> {
  if (encoding !== 'gzip') throw damaged(`its encoding is "${encoding}", not gzip or identity`)
  try {
    return await decodeGzip(body, maxBytes)
  } catch (error) {
    throw damaged(`its gzip cannot be read (${errorCode(error)})`)
  }
}

// Half a millisecond for 987 kB; the asynchronous function copies the answer first, which costs more.
function checksumOf(document: Buffer): string {
  return createHash('sha256').update(document).digest('hex')
}

function damaged(reason: string): MusetteError {
  return new MusetteError('document_damaged', `the stored answer is damaged: ${reason}`)
}

/**
 * Finds the stored answers of activities, by `activity_id`. By COPY, because the driver gets a body as text of twice the length.
 */
export async function findRawDocuments(
  tx: Tx,
  activityIds: readonly number[],
): Promise<Map<number, PackedDocument>> {
  const ids = activityIds.map(Number).join(', ')
  if (ids === '') return new Map()
  const query = `SELECT activity_id, sha256, encoding, body FROM training.raw_documents WHERE activity_id IN (${ids})`
  const rows = await copyRowsOut(tx.client, query)
  return new Map(
    rows.map(([activityId, sha256, encoding, body]) => [
      (activityId as Buffer).readInt32BE(),
      { sha256: String(sha256), encoding: String(encoding), body: body as Buffer },
    ]),
  )
}

/**
 * Replaces the stored answers of activities; when the new answer is not kept (undefined), the old one is removed, because the samples no
 * longer come from it.
 */
export async function replaceRawDocuments(
  tx: Tx,
  answers: ReadonlyArray<{ activityId: number; requestedAt: Date; rawDocument?: PackedDocument | undefined }>,
): Promise<void> {
  if (answers.length === 0) return
  const activityIds = answers.map(({ activityId }) => activityId)
  await tx.db.delete(rawDocuments).where(inArray(rawDocuments.activityId, activityIds))
  const documents = answers.flatMap(({ activityId, requestedAt, rawDocument }) =>
    rawDocument ? [{ activityId, fetchedAt: requestedAt, ...rawDocument }] : [],
  )
  if (documents.length > 0) await tx.db.insert(rawDocuments).values(documents)
}
