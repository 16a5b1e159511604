import { and, asc, eq, gte, inArray, isNull, or, sql } from 'drizzle-orm'
import { activities, rawDocuments } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import type { RebuildItem } from './rebuilds.ts'

/**
 * Makes activities wanted as if they had never been fetched: without the summary's hash the samples are fetched, too. Either
 * those of `paths`, or those of the day `since` (midnight UTC names it) and later; absent ones stay as they are. Returns the marked paths.
 */
export async function recordRefetch(
  tx: Tx,
  input: { accountId: number; wantedAt: Date } & ({ paths: readonly string[] } | { since: Date }),
): Promise<string[]> {
  const chosen =
    'paths' in input
      ? inArray(activities.path, [...input.paths])
      : gte(activities.startedAtLocal, input.since.toISOString().slice(0, 'YYYY-MM-DD'.length))
  const rows = await tx.db
    .update(activities)
    .set(neverFetched(input.wantedAt))
    .where(and(eq(activities.accountId, input.accountId), isNull(activities.absentSince), chosen))
    .returning({ path: activities.path })
  return rows.map(({ path }) => path)
}

// Every curve has a point of one second.
const IS_INCOMPLETE = or(
  sql`${activities.startedAtLocal} IS NOT NULL AND EXISTS (
    SELECT FROM training.power_curves c WHERE c.activity_id = ${activities.activityId} AND c.duration_s = 1
      AND (c.account_id IS NULL OR c.season IS NULL OR c.started_at_local IS NULL OR c.sport IS NULL))`,
  sql`${activities.sampleCount} > 0 AND NOT EXISTS (
    SELECT FROM training.activity_intensity i WHERE i.activity_id = ${activities.activityId} AND i.account_id IS NOT NULL
      AND i.sample_spacing_s IS NOT NULL)`,
)

/**
 * Finds the activities with a stored answer whose derived rows are incomplete: a process of an older version that writes after a
 * migration leaves such rows.
 */
export async function findIncomplete(tx: Tx): Promise<RebuildItem[]> {
  return await tx.db
    .select({
      activityId: activities.activityId,
      path: activities.path,
      bytes: sql<number>`octet_length(${rawDocuments.body})`,
    })
    .from(activities)
    .innerJoin(rawDocuments, eq(rawDocuments.activityId, activities.activityId))
    .where(IS_INCOMPLETE)
    .orderBy(asc(activities.activityId))
}

/** Makes mirrored activities wanted whose derived rows are incomplete, see findIncomplete. Returns their number. */
export async function recordRefetchOfIncomplete(tx: Tx, input: { wantedAt: Date }): Promise<number> {
  const rows = await tx.db
    .update(activities)
    .set(neverFetched(input.wantedAt))
    .where(and(eq(activities.detailState, 'mirrored'), isNull(activities.absentSince), IS_INCOMPLETE))
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
