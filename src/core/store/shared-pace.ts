import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { errorLine, TransientError } from '../../kit/errors.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { SECOND, within } from '../../kit/time.ts'
import type { Reserved, SharedPace } from '../service/pacer.ts'
import type { Store } from './store.ts'

/** Longer than this the pacer can do without the database; and a request that is given out later than this is not sent. */
const ANSWER_WITHIN_MS = 1 * SECOND

/** Makes the pace that all processes share that use this database, see the function reserve_calls there. */
export function makeSharedPace(
  { store, log }: { store: Pick<Store, 'query'>; log: Logger },
  answerWithinMs = ANSWER_WITHIN_MS,
): SharedPace {
  const caller = randomUUID()
  const problems = makeLogOnce(log)
  /** whether a statement is under way: a second one would wait behind it, on one more connection */
  let isPending = false
  /** One late answer is no news to a person who waits for a command. */
  let missed = 0
  const slow = () => new TransientError('database_slow', 'the database did not answer within a second')
  const end = () => {
    isPending = false
  }
  return {
    async reserve({ count, running, demand, concurrency, requestsPerMinute, calm }) {
      try {
        if (isPending) throw slow()
        isPending = true
        // Prepared, because planning would take most of the time.
        const found = store.query<Reserved>({
          name: 'reserve_calls',
          text: `SELECT allowed, callers, requests_per_minute AS "requestsPerMinute", waits AS "waitsMs", coalesce(pauses, '{}') AS "pausesMs"
            FROM musette.reserve_calls($1, $2, $3, $4, $5, $6, $7)`,
          values: [caller, count, running, demand, concurrency, requestsPerMinute, calm],
        })
        found.then(end, end)
        if (!(await within(found, answerWithinMs))) throw slow()
        missed = 0
        problems.over('pace')
        const [reserved] = await found
        if (!reserved) throw new Error('a function returns a row')
        return reserved
      } catch (error) {
        const message =
          'the pace is not shared with other processes while the database does not answer; each keeps its last part of it'
        missed += 1
        if (missed > 1) problems.say('warn', 'pace', message, { reason: errorLine(error) })
        throw error
      }
    },
    async pause(origin, ms) {
      await store.query({
        text: `INSERT INTO musette.service_pauses AS p VALUES ($1, clock_timestamp() + $2 * interval '1 ms', $2 * interval '1 ms')
          ON CONFLICT (origin) DO UPDATE SET until = excluded.until, lasts = excluded.lasts
          WHERE p.until < excluded.until OR p.until > clock_timestamp() + p.lasts`,
        values: [origin, ms],
      })
    },
  }
}
