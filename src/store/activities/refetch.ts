import { and, eq, gte, inArray, isNull, or, sql } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/**
 * Makes activities wanted as if they had never been fetched: without the summary's hash the samples are fetched, too. Either
 * those of `paths`, or those that started at `since` or later; absent ones stay as they are. Returns the marked paths.
 */
export async function recordRefetch(
  tx: Tx,
  input: { accountId: number; wantedAt: Date } & ({ paths: readonly string[] } | { since: Date }),
): Promise<string[]> {
  const chosen =
    'paths' in input ? inArray(activities.path, [...input.paths]) : gte(activities.startedAt, input.since)
  const rows = await tx.db
    .update(activities)
    .set(neverFetched(input.wantedAt))
    .where(and(eq(activities.accountId, input.accountId), isNull(activities.absentSince), chosen))
    .returning({ path: activities.path })
  return rows.map(({ path }) => path)
}

/**
 * Makes mirrored activities wanted whose derived rows are incomplete: a process of an older version that writes after a
 * migration leaves such rows. Returns their number.
 */
export async function recordRefetchOfIncomplete(tx: Tx, input: { wantedAt: Date }): Promise<number> {
  // Every curve has a point of one second.
  const curveIncomplete = sql`${activities.startedAtLocal} IS NOT NULL AND EXISTS (
    SELECT FROM training.power_curves c WHERE c.activity_id = ${activities.activityId} AND c.duration_s = 1
      AND (c.account_id IS NULL OR c.season IS NULL OR c.started_at_local IS NULL))`
  const intensityMissing = sql`${activities.sampleCount} > 0 AND NOT EXISTS (
    SELECT FROM training.activity_intensity i WHERE i.activity_id = ${activities.activityId} AND i.account_id IS NOT NULL)`
  const rows = await tx.db
    .update(activities)
    .set(neverFetched(input.wantedAt))
    .where(
      and(
        eq(activities.detailState, 'mirrored'),
        isNull(activities.absentSince),
        or(curveIncomplete, intensityMissing),
      ),
    )
    .returning({ activityId: activities.activityId })
  return rows.length
}

function neverFetched(wantedAt: Date) {
  return {
    detailState: 'wanted',
    summaryHash: null,
    wantedAt,
    nextFetchAt: null,
    fetchAttempts: 0,
  } as const
}
