import { eq } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

export type KnownActivity = Awaited<ReturnType<typeof findKnownActivities>>[number]

/** Finds every activity of an account, absent ones too, to compare with the service's whole list. */
export async function findKnownActivities(tx: Tx, accountId: number) {
  const { activityId, path, startedAt, absentSince, listedAt, wantedAt, detailState, name } = activities
  return await tx.db
    .select({ activityId, path, startedAt, absentSince, listedAt, wantedAt, detailState, name })
    .from(activities)
    .where(eq(activities.accountId, accountId))
}

/**
 * Marks activities as missing at the service since `absentSince` and returns how many were newly marked. Nothing is deleted;
 * the mark goes when the service lists them again.
 */
export async function recordAbsent(
  tx: Tx,
  input: { accountId: number; activityIds: readonly number[]; absentSince: Date },
): Promise<number> {
  const { rowCount } = await tx.client.query(
    `UPDATE training.activities SET absent_since = $3
     WHERE account_id = $1 AND activity_id = ANY ($2::int[]) AND absent_since IS NULL`,
    [input.accountId, input.activityIds, input.absentSince],
  )
  return Number(rowCount)
}
