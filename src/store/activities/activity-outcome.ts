import { and, eq, gt, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { cleanText } from '../clean.ts'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/**
 * The activity of an answer, and when the answer was requested and recorded, by the same clock. Times of the row that lie
 * after `recordedAt` were written while that clock was ahead, and do not count as newer.
 */
export type AnswerKey = { activityId: number; requestedAt: Date; recordedAt?: Date }

/**
 * Records that the summary requested at `requestedAt` is the mirrored one. Only for an activity that has its samples. The
 * activity stays wanted when a change was listed since. An answer older than the row's own changes nothing.
 */
export async function recordUnchanged(tx: Tx, input: AnswerKey): Promise<void> {
  await tx.db
    .update(activities)
    .set({
      fetchedAt: input.requestedAt,
      detailState: stateAfter(input),
      nextFetchAt: nextAfter(input),
      fetchAttempts: 0,
      fetchError: null,
    })
    .where(isNotOlder(input))
}

/**
 * Records that a fetch failed; the next one begins at `nextFetchAt` (null: when the activity is listed again). `attempts`
 * counts the fetches since the last successful one. A failure older than the row's own answer changes nothing.
 */
export async function recordFetchFailure(
  tx: Tx,
  input: AnswerKey & {
    error: string
    nextFetchAt: Date | null
    attempts: number
  },
): Promise<void> {
  await tx.db
    .update(activities)
    .set({
      detailState: 'failed',
      nextFetchAt: input.nextFetchAt,
      fetchAttempts: input.attempts,
      fetchError: cleanText(input.error),
    })
    .where(isNotOlder(input))
}

/** Records that the answer of `requestedAt`, samples and all, is what the tables hold. An answer older than the row's changes nothing. */
export async function recordVerified(tx: Tx, input: AnswerKey): Promise<void> {
  await tx.db.update(activities).set({ verifiedAt: input.requestedAt }).where(isNotOlder(input))
}

type Moment = typeof activities.wantedAt | typeof activities.fetchedAt | typeof activities.listedAt

// A change that was listed after the request keeps the activity wanted.
function stateAfter(answer: AnswerKey): SQL {
  return sql`case when ${wantedSince(answer)} then 'wanted' else 'mirrored' end`
}

// When the activity was listed after the request without a change, its next fetch stays: the list may be newer than the answer.
function nextAfter(answer: AnswerKey): SQL {
  const listedSince = and(gt(activities.listedAt, answer.requestedAt), notAhead(activities.listedAt, answer))
  return sql`case when ${listedSince} and not (${wantedSince(answer)}) then ${activities.nextFetchAt} end`
}

function wantedSince(answer: AnswerKey): SQL | undefined {
  return and(gt(activities.wantedAt, answer.requestedAt), notAhead(activities.wantedAt, answer))
}

/** Tells whether the row of an activity has no answer that was requested later. */
export function isNotOlder(answer: AnswerKey): SQL | undefined {
  const newer = and(gt(activities.fetchedAt, answer.requestedAt), notAhead(activities.fetchedAt, answer))
  return and(
    eq(activities.activityId, answer.activityId),
    or(isNull(activities.fetchedAt), sql`not (${newer})`),
  )
}

function notAhead(column: Moment, answer: AnswerKey) {
  return answer.recordedAt && lte(column, answer.recordedAt)
}
