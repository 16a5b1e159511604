import { sql } from 'drizzle-orm'
import { cleanText } from './clean.ts'
import { uploadCopies } from './schema/index.ts'
import type { Tx } from './store.ts'

/** A file whose bytes the ledger knows under another name. */
export type UploadCopy = { accountId: number; contentId: string; fileName: string; seenAt: Date }

/** Records further names of contents in the ledger; one that is known is seen anew. */
export async function recordUploadCopies(tx: Tx, copies: readonly UploadCopy[]): Promise<void> {
  const { accountId, contentId, fileName } = uploadCopies
  // One archive may hold a content twice under one name in two folders; a statement takes each key once.
  const keyed = new Map(copies.map((copy) => [`${copy.contentId} ${cleanText(copy.fileName)}`, copy]))
  await tx.db
    .insert(uploadCopies)
    .values([...keyed.values()].map((copy) => ({ ...copy, fileName: cleanText(copy.fileName) })))
    .onConflictDoUpdate({ target: [accountId, contentId, fileName], set: { seenAt: sql`excluded.seen_at` } })
}
