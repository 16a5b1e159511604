import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { cleanNullable, cleanText } from './clean.ts'
import { uploads } from './schema/index.ts'
import type { Tx } from './store.ts'

export type Upload = Readonly<typeof uploads.$inferSelect>
export type UploadState = Upload['state']
export type UploadKey = { accountId: number; contentId: string }

/** What a change of state may write besides; what is left out stays. */
export type UploadChange = {
  state: UploadState
  activityPath?: string | null
  activityId?: number | null
  reason?: string | null
  sentAt?: Date
  acceptedAt?: Date
  mirroredAt?: Date
  /** Counts one more sending. */
  countAttempt?: boolean
}

/**
 * Records a content in the ledger, or leaves the known row as it is. Returns the row and whether it is new.
 * `sizeBytes` is the size of the FIT content.
 */
export async function recordUploadSeen(
  tx: Tx,
  input: UploadKey & { fileName: string; sizeBytes: number; startedAt: Date | null; seenAt: Date },
): Promise<{ upload: Upload; isNew: boolean }> {
  const [made] = await tx.db
    .insert(uploads)
    .values({ ...input, fileName: cleanText(input.fileName) })
    .onConflictDoNothing()
    .returning()
  if (made) return { upload: made, isNew: true }
  const upload = await findUpload(tx, input)
  if (!upload) throw new Error('a conflicting row can be read')
  return { upload, isNew: false }
}

/** Finds the ledger row of a content; undefined when it was never seen. */
export async function findUpload(tx: Tx, key: UploadKey): Promise<Upload | undefined> {
  const [row] = await tx.db.select().from(uploads).where(isUpload(key))
  return row
}

/** Finds the ledger rows in any of `states`, oldest first. */
export async function findUploads(
  tx: Tx,
  input: { accountId?: number; states: readonly UploadState[]; limit: number },
): Promise<Upload[]> {
  const rules: SQL[] = [inArray(uploads.state, [...input.states])]
  if (input.accountId !== undefined) rules.push(eq(uploads.accountId, input.accountId))
  return await tx.db
    .select()
    .from(uploads)
    .where(and(...rules))
    .orderBy(asc(uploads.seenAt))
    .limit(input.limit)
}

/**
 * Moves a ledger row to another state and returns it. With `from`, only when its state is one of those: undefined
 * means that someone else was first, and nothing is written.
 */
export async function recordUploadState(
  tx: Tx,
  key: UploadKey,
  change: UploadChange,
  from?: readonly UploadState[],
): Promise<Upload | undefined> {
  const { countAttempt, reason, activityPath, ...rest } = change
  const rules: (SQL | undefined)[] = [isUpload(key)]
  if (from) rules.push(inArray(uploads.state, [...from]))
  const [row] = await tx.db
    .update(uploads)
    .set({
      ...rest,
      ...(reason === undefined ? {} : { reason: cleanNullable(reason) }),
      ...(activityPath === undefined ? {} : { activityPath: cleanNullable(activityPath) }),
      ...(countAttempt ? { attempts: sql`${uploads.attempts} + 1` } : {}),
    })
    .where(and(...rules))
    .returning()
  return row
}

function isUpload(key: UploadKey): SQL | undefined {
  return and(eq(uploads.accountId, key.accountId), eq(uploads.contentId, key.contentId))
}
