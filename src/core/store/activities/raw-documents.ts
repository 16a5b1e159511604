import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { eq, inArray } from 'drizzle-orm'
import { decodeGzip } from '../../../kit/decode-gzip.ts'
import { errorCode, MusetteError } from '../../../kit/errors.ts'
import { copyRowsOut } from '../copy.ts'
import { rawDocuments, rebuilds } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** An answer as stored in `training.raw_documents`; `sha256` is the hex checksum of the uncompressed answer. */
export type PackedDocument = { sha256: string; encoding: string; body: Buffer }

// For an answer of 987 kB, gzip level 1 makes 227 kB in 4.8 ms and level 6 makes 183 kB in 15.5 ms. Brotli 1 makes 201 kB in 2.9 ms, but
// every script can open gzip. One chunk holds the whole result, because each chunk costs a turn of the event loop.
const GZIP = { level: 1, chunkSize: 512 * 1024 }

/** Compresses an answer off the main thread; reuses the service's gzip if the answer came compressed. */
export async function packDocument(document: Buffer, gzipped?: Buffer): Promise<PackedDocument> {
  const body = gzipped ?? (await promisify(gzip)(document, GZIP))
  return { sha256: checksumOf(document), encoding: 'gzip', body }
}

/** Decompresses a stored answer to at most `maxBytes`. Throws MusetteError `document_damaged` if this fails or the checksum differs. */
export async function unpackDocument({ sha256, encoding, body }: PackedDocument, maxBytes: number) {
  if (encoding !== 'gzip' && encoding !== 'identity')
    throw damaged(`its encoding is "${encoding}", not gzip or identity`)
  const unpacking = encoding === 'gzip' ? decodeGzip(body, maxBytes) : Promise.resolve(body)
  const document = await unpacking.catch((error: unknown) => {
    throw damaged(`its gzip cannot be read (${errorCode(error)})`)
  })
  if (checksumOf(document) !== sha256) throw damaged('its checksum differs')
  return document
}

// Takes 0.5 ms for 987 kB. The asynchronous function copies the answer first, which costs more.
function checksumOf(document: Buffer): string {
  return createHash('sha256').update(document).digest('hex')
}

function damaged(reason: string): MusetteError {
  return new MusetteError('document_damaged', `the stored answer is damaged: ${reason}`)
}

/** Finds the stored answers of activities, by `activity_id`. Uses COPY, because a query would return each body as text of twice the length. */
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

/** Replaces the stored answers of activities. Without `rawDocument`, deletes the stored answer, because the samples no longer come from it. */
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

/** An activity to rebuild; `bytes` is the size of its stored answer, null if none is stored. */
export type RebuildItem = Readonly<{ activityId: number; path: string; bytes: number | null }>

/** Finds an account's activities, including absent ones, in the order of their ids; with `paths`, only activities with these paths. */
export async function findRebuildItems(
  tx: Tx,
  { accountId, paths }: { accountId: number; paths?: readonly string[] | undefined },
): Promise<RebuildItem[]> {
  const { rows } = await tx.client.query<RebuildItem>(
    `SELECT a.activity_id AS "activityId", a.path, octet_length(r.body) AS bytes
     FROM training.activities a LEFT JOIN training.raw_documents r USING (activity_id)
     WHERE a.account_id = $1 AND ($2::text[] IS NULL OR a.path = ANY ($2)) ORDER BY a.activity_id`,
    [accountId, paths ?? null],
  )
  return rows
}

/** Progress of an account's unfinished rebuild. */
export type RebuildProgress = {
  /** the program's version, because another version may derive different values */
  version: string
  startedAt: Date
  /** all activities up to this id are done */
  through: number
  /** ids up to `through` of activities that could not be rebuilt */
  failed: number[]
}

/** Finds the progress of an account's unfinished rebuild; undefined if the last rebuild finished. */
export async function findRebuildProgress(tx: Tx, accountId: number): Promise<RebuildProgress | undefined> {
  const [row] = await tx.db.select().from(rebuilds).where(eq(rebuilds.accountId, accountId))
  return row
}

export async function recordRebuildProgress(tx: Tx, accountId: number, progress: RebuildProgress) {
  await tx.db
    .insert(rebuilds)
    .values({ accountId, ...progress })
    .onConflictDoUpdate({ target: rebuilds.accountId, set: progress })
}

export async function recordRebuildEnded(tx: Tx, accountId: number): Promise<void> {
  await tx.db.delete(rebuilds).where(eq(rebuilds.accountId, accountId))
}
