import { eq, sql } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import type { DetailState } from './wanted.ts'

/** Numbers of activities: listed ones by state, and those that the service lists no more. */
export type StateCounts = Record<DetailState | 'absent', number>

/** Counts an account's activities by state; absent ones count as absent only. */
export async function countByState(tx: Tx, accountId: number): Promise<StateCounts> {
  const counts: StateCounts = { wanted: 0, awaiting_samples: 0, mirrored: 0, failed: 0, absent: 0 }
  const state = sql<
    keyof StateCounts
  >`case when ${activities.absentSince} is null then ${activities.detailState} else 'absent' end`
  const rows = await tx.db
    .select({ state, count: sql<number>`count(*)::int` })
    .from(activities)
    .where(eq(activities.accountId, accountId))
    .groupBy(sql`1`)
  for (const row of rows) counts[row.state] = row.count
  return counts
}
