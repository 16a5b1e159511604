import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import { syncCursors } from './schema/index.ts'
import type { Tx } from './store.ts'

type CursorKey = { accountId: number; resource: string }
/** `advancedAt` and `readAt` (the time of the query) are by the database's clock, `updatedFrom` is by the service's. */
export type Cursor = Readonly<{ updatedFrom: Date; advancedAt: Date; readAt: Date }>
type ListCap = Readonly<{ listCap: number | null; checkedAt: Date }>

/** Finds the cursor of a resource; undefined before the first pass. */
export async function findCursor(tx: Tx, key: CursorKey): Promise<Cursor | undefined> {
  const row = await findRow(tx, key)
  if (!row?.updatedFrom) return undefined
  const { updatedFrom, readAt } = row
  return { updatedFrom, advancedAt: row.advancedAt ?? readAt, readAt }
}

/** Finds the result of the last comparison of the whole list with its windows; undefined before the first. */
export async function findListCap(tx: Tx, key: CursorKey): Promise<ListCap | undefined> {
  const row = await findRow(tx, key)
  return row?.listCheckedAt ? { listCap: row.listCap, checkedAt: row.listCheckedAt } : undefined
}

/**
 * Moves the cursor of a resource to `updatedFrom`, by the clock of the service, also backwards: a cursor that is too early
 * lists a few changes again, one that is too late would lose them.
 */
export async function recordCursor(tx: Tx, input: CursorKey & { updatedFrom: Date }): Promise<void> {
  await tx.db
    .insert(syncCursors)
    .values({ ...input, advancedAt: sql`clock_timestamp()` })
    .onConflictDoUpdate({
      target: [syncCursors.accountId, syncCursors.resource],
      set: {
        updatedFrom: sql`excluded.updated_from`,
        advancedAt: sql`excluded.advanced_at`,
      },
    })
}

/** Records that the whole list was compared with its windows, and the longest list that the service sends (null: no limit). */
export async function recordListCap(tx: Tx, input: CursorKey & { listCap: number | null; checkedAt: Date }) {
  const { accountId, resource, listCap, checkedAt } = input
  await tx.db
    .insert(syncCursors)
    .values({ accountId, resource, listCap, listCheckedAt: checkedAt })
    .onConflictDoUpdate({
      target: [syncCursors.accountId, syncCursors.resource],
      set: { listCap, listCheckedAt: checkedAt },
    })
}

async function findRow(tx: Tx, key: CursorKey) {
  const [row] = await tx.db
    .select({
      ...getTableColumns(syncCursors),
      readAt: sql`clock_timestamp()`.mapWith(syncCursors.advancedAt),
    })
    .from(syncCursors)
    .where(and(eq(syncCursors.accountId, key.accountId), eq(syncCursors.resource, key.resource)))
  return row
}
