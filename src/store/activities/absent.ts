import { and, eq, inArray, isNull } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import type { DetailState } from './wanted.ts'

export type KnownActivity = Readonly<{
  activityId: number
  path: string
  startedAt: Date | null
  absentSince: Date | null
  listedAt: Date
  wantedAt: Date
  detailState: DetailState
  name: string | null
}>

// Keeps the array parameter of one statement small.
const BATCH = 5_000

/** Finds every activity of an account, absent ones too, to compare with the service's whole list. */
export async function findKnownActivities(tx: Tx, accountId: number): Promise<KnownActivity[]> {
  return await tx.db
    .select({
      activityId: activities.activityId,
      path: activities.path,
      startedAt: activities.startedAt,
      absentSince: activities.absentSince,
      listedAt: activities.listedAt,
      wantedAt: activities.wantedAt,
      detailState: activities.detailState,
      name: activities.name,
    })
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
  let marked = 0
  for (let start = 0; start < input.activityIds.length; start += BATCH) {
    const ids = input.activityIds.slice(start, start + BATCH)
    const result = await tx.db
      .update(activities)
      .set({ absentSince: input.absentSince })
      .where(
        and(
          eq(activities.accountId, input.accountId),
          inArray(activities.activityId, ids),
          isNull(activities.absentSince),
        ),
      )
    marked += Number(result.rowCount)
  }
  return marked
}
