import { eq } from 'drizzle-orm'
import { locks } from './schema/index.ts'
import type { Tx } from './store.ts'

/** Work that one transaction at a time may do for one account, one service or one folder. */
type LockedWork =
  | 'activity list'
  | 'training info'
  | 'uploads'
  | 'workout folder'
  | 'workout list'
  | 'workout sets'

/**
 * Waits until no other transaction holds the lock of that work for `owner`, and holds it until this transaction ends. The
 * lock is a row of schema musette: every login of the database could take an advisory lock, also one that only reads.
 */
export async function acquireNamedLock(tx: Tx, work: LockedWork, owner: number | string): Promise<void> {
  const name = `${work} ${owner}`
  const found = await tx.db.select().from(locks).where(eq(locks.name, name)).for('update')
  if (found.length > 0) return
  // When two transactions insert the row at the same time, the second one waits here for the first.
  await tx.db.insert(locks).values({ name }).onConflictDoUpdate({ target: locks.name, set: { name } })
}
