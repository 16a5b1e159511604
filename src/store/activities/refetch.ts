import { and, eq, gte, inArray, isNull } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/**
 * Makes activities wanted as if they had never been fetched: their summary's hash is forgotten, so that the samples are
 * asked for, too. Those of `paths`, or those that started at `since` or later; absent ones stay as they are. Returns
 * the paths that were marked.
 */
export async function recordRefetch(
  tx: Tx,
  input: { accountId: number; wantedAt: Date } & ({ paths: readonly string[] } | { since: Date }),
): Promise<string[]> {
  const chosen =
    'paths' in input ? inArray(activities.path, [...input.paths]) : gte(activities.startedAt, input.since)
  const rows = await tx.db
    .update(activities)
    .set({
      detailState: 'wanted',
      summaryHash: null,
      wantedAt: input.wantedAt,
      nextFetchAt: null,
      fetchAttempts: 0,
    })
    .where(and(eq(activities.accountId, input.accountId), isNull(activities.absentSince), chosen))
    .returning({ path: activities.path })
  return rows.map(({ path }) => path)
}
