import { eq } from 'drizzle-orm'
import { locks } from './schema/index.ts'
import type { Tx } from './store.ts'

/**
 * Waits until no other transaction holds the lock `name`, and holds it to the end of this one. The lock is a row of schema
 * musette: an advisory lock could be taken by every login of the database, also by one that only reads.
 */
export async function lockName(tx: Tx, name: string): Promise<void> {
  const found = await tx.db.select().from(locks).where(eq(locks.name, name)).for('update')
  if (found.length > 0) return
  // Of two that make the row at once, the second waits here for the first.
  await tx.db.insert(locks).values({ name }).onConflictDoUpdate({ target: locks.name, set: { name } })
}
