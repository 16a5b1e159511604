import { and, eq, gt, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { cleanText } from '../clean.ts'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/**
 * Which answer is recorded: when it was asked for and when it is recorded, by the same clock. A row whose own moments
 * lie after `recordedAt` was written while that clock ran ahead, and does not count as newer.
 */
export type AnswerKey = { activityId: number; requestedAt: Date; recordedAt?: Date }

/**
 * Records that the summary asked for at `requestedAt` is the one already mirrored. Only for an activity whose samples
 * are here. Stays wanted when it was listed again since; an older answer than the row's own changes nothing.
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
 * Records that a fetch failed, and not to try again before `nextFetchAt` (null: not until it is listed again).
 * `attempts` counts the fetches since the last good one. An older failure than the row's own answer changes nothing.
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

type Moment = typeof activities.wantedAt | typeof activities.fetchedAt | typeof activities.listedAt

// A change listed since the answer was asked for keeps the activity wanted.
function stateAfter(answer: AnswerKey): SQL {
  return sql`case when ${wantedSince(answer)} then 'wanted' else 'mirrored' end`
}

// Listed since without a change: the moment to ask again stays, for the list may know more than the answer.
function nextAfter(answer: AnswerKey): SQL {
  const listedSince = and(gt(activities.listedAt, answer.requestedAt), notAhead(activities.listedAt, answer))
  return sql`case when ${listedSince} and not (${wantedSince(answer)}) then ${activities.nextFetchAt} end`
}

function wantedSince(answer: AnswerKey): SQL | undefined {
  return and(gt(activities.wantedAt, answer.requestedAt), notAhead(activities.wantedAt, answer))
}

function isNotOlder(answer: AnswerKey): SQL | undefined {
  const newer = and(gt(activities.fetchedAt, answer.requestedAt), notAhead(activities.fetchedAt, answer))
  return and(
    eq(activities.activityId, answer.activityId),
    or(isNull(activities.fetchedAt), sql`not (${newer})`),
  )
}

function notAhead(column: Moment, answer: AnswerKey) {
  return answer.recordedAt && lte(column, answer.recordedAt)
}
