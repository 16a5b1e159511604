import { and, eq, gte, inArray, isNull } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

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

function neverFetched(wantedAt: Date) {
  return {
    detailState: 'wanted',
    summaryHash: null,
    wantedAt,
    nextFetchAt: null,
    fetchAttempts: 0,
  } as const
}
