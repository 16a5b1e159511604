import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { cleanText } from '../clean.ts'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/**
 * Records that the summary asked for at `requestedAt` is the one already mirrored. Only for an activity whose samples
 * are here. Stays wanted when it was listed again since; an older answer than the row's own changes nothing.
 */
export async function recordUnchanged(
  tx: Tx,
  input: { activityId: number; requestedAt: Date },
): Promise<void> {
  await tx.db
    .update(activities)
    .set({
      fetchedAt: input.requestedAt,
      detailState: stateAfter(input.requestedAt, 'mirrored'),
      nextFetchAt: null,
      fetchAttempts: 0,
      fetchError: null,
    })
    .where(isNotOlder(input))
}

/**
 * Records that a fetch failed, and not to try again before `nextFetchAt` (null: not until it is listed again).
 * `detailState` is `failed`, or `wanted` for a failure that may not be this activity's own. `attempts` counts the
 * fetches since the last good one. An older failure than the row's own answer changes nothing.
 */
export async function recordFetchFailure(
  tx: Tx,
  input: {
    activityId: number
    requestedAt: Date
    error: string
    nextFetchAt: Date | null
    attempts: number
    detailState?: 'failed' | 'wanted'
  },
): Promise<void> {
  await tx.db
    .update(activities)
    .set({
      detailState: input.detailState ?? 'failed',
      nextFetchAt: input.nextFetchAt,
      fetchAttempts: input.attempts,
      fetchError: cleanText(input.error),
    })
    .where(isNotOlder(input))
}

/** The state after an answer asked for at `requestedAt`: a change listed since keeps the activity wanted. */
export function stateAfter(requestedAt: Date, state: 'mirrored' | 'awaiting_samples'): SQL {
  return sql`case when ${activities.wantedAt} > ${requestedAt.toISOString()} then 'wanted' else ${state} end`
}

function isNotOlder(input: { activityId: number; requestedAt: Date }): SQL | undefined {
  return and(
    eq(activities.activityId, input.activityId),
    or(isNull(activities.fetchedAt), lte(activities.fetchedAt, input.requestedAt)),
  )
}
