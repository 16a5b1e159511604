import { lt, sql } from 'drizzle-orm'
import { endedSessions } from './schema/index.ts'
import type { Tx } from './store.ts'

/** Records a session of the dashboard that was signed out, and removes those that have ended by themselves. */
export async function recordEndedSession(tx: Tx, session: { id: string; endsAt: Date }): Promise<void> {
  await tx.db.delete(endedSessions).where(lt(endedSessions.endsAt, sql`clock_timestamp()`))
  await tx.db.insert(endedSessions).values(session).onConflictDoNothing()
}

/** Finds the ids of the sessions that were signed out before their time. */
export async function findEndedSessions(tx: Tx): Promise<ReadonlySet<string>> {
  const rows = await tx.db.select({ id: endedSessions.id }).from(endedSessions)
  return new Set(rows.map(({ id }) => id))
}
