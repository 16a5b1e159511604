import { DAY } from '../../kit/time.ts'
import type { Tx } from './store.ts'

/** Longest plausible pause, ms: twice the longest pause before a retry. Only the overlap of two polls (`lagMs`) can be longer. */
const MAX_PAUSE_MS = 2 * DAY

/**
 * Ends every pause that lasts longer than any real pause can. Such a pause began while the clock was ahead, and would delay an activity, a
 * file or a login for as long as the clock was wrong. `lagMs` is the overlap of two polls. Returns the number of ended pauses.
 */
export async function recordPausesEnded(tx: Tx, input: { now: Date; lagMs: number }): Promise<number> {
  const { now, lagMs } = input
  const latest = new Date(now.getTime() + Math.max(MAX_PAUSE_MS, 2 * lagMs))
  const statements = [
    'update training.activities set next_fetch_at = $1 where next_fetch_at > $2',
    'update training.uploads set next_try_at = $1, resend_after = least(resend_after, $1) where next_try_at > $2',
    'update musette.credentials set not_before = $1 where not_before > $2',
  ]
  let ended = 0
  for (const statement of statements) {
    const { rowCount } = await tx.client.query(statement, [now, latest])
    ended += rowCount ?? 0
  }
  return ended
}
