import { DAY } from '../kit/time.ts'
import type { Tx } from './store.ts'

/** Twice the longest pause before another attempt; only the lag of the polls can be longer. */
const LONGEST_MS = 2 * DAY

/**
 * Ends every pause that lies further ahead of `now` than any pause is long: it was made while the clock was ahead, and would
 * leave an activity, a file or a login alone for as long as the clock had jumped. `lagMs` is how far polls reach back.
 * Returns how many there were.
 */
export async function recordPausesEnded(tx: Tx, input: { now: Date; lagMs: number }): Promise<number> {
  const { now, lagMs } = input
  const latest = new Date(now.getTime() + Math.max(LONGEST_MS, 2 * lagMs))
  const statements = [
    'update training.activities set next_fetch_at = $1 where next_fetch_at > $2',
    'update training.uploads set next_try_at = $1, settle_after = least(settle_after, $1) where next_try_at > $2',
    'update musette.credentials set not_before = $1 where not_before > $2',
  ]
  let ended = 0
  for (const statement of statements) {
    const { rowCount } = await tx.client.query(statement, [now, latest])
    ended += rowCount ?? 0
  }
  return ended
}
