import { eq } from 'drizzle-orm'
import { rebuilds } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** An activity to rebuild, and the size of its stored answer, bytes; null when none is kept. */
export type RebuildItem = Readonly<{ activityId: number; path: string; bytes: number | null }>

const ITEMS = `
  SELECT a.activity_id AS "activityId", a.path, octet_length(r.body) AS bytes
  FROM training.activities a LEFT JOIN training.raw_documents r USING (activity_id)`

/** Finds the activities of an account, also absent ones, in the order of their ids; with `paths` only those. */
export async function findRebuildItems(
  tx: Tx,
  { accountId, paths }: { accountId: number; paths?: readonly string[] | undefined },
): Promise<RebuildItem[]> {
  const { rows } = await tx.client.query<RebuildItem>(
    `${ITEMS} WHERE a.account_id = $1 AND ($2::text[] IS NULL OR a.path = ANY ($2)) ORDER BY a.activity_id`,
    [accountId, paths ?? null],
  )
  return rows
}

/** How far an unfinished rebuild of an account has come. */
export type RebuildProgress = {
  /** of the program, because another version may derive other values */
  version: string
  startedAt: Date
  /** the activity id up to which all are done */
  through: number
  /** activity ids up to `through` that could not be rebuilt */
  failed: number[]
}

/** Finds the progress of an account's unfinished rebuild; undefined when the last one came to its end. */
export async function findRebuildProgress(tx: Tx, accountId: number): Promise<RebuildProgress | undefined> {
  const [row] = await tx.db.select().from(rebuilds).where(eq(rebuilds.accountId, accountId))
  return row
}

/** Records the progress of an account's rebuild. */
export async function recordRebuildProgress(tx: Tx, accountId: number, progress: RebuildProgress) {
  await tx.db
    .insert(rebuilds)
    .values({ accountId, ...progress })
    .onConflictDoUpdate({ target: rebuilds.accountId, set: progress })
}

/** Records that a rebuild came to its end. */
export async function recordRebuildEnded(tx: Tx, accountId: number): Promise<void> {
  await tx.db.delete(rebuilds).where(eq(rebuilds.accountId, accountId))
}
