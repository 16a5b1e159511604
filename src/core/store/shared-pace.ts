import type { Grant, SharedPace } from '../service/pacer.ts'
import type { Store } from './store.ts'

/** Makes the pace that all processes of this database share, see the function musette.take_call. */
export function makeSharedPace(store: Pick<Store, 'query'>): SharedPace {
  return {
    async take(requestsPerMinute) {
      // Prepared, because planning would take most of the time.
      const [grant] = await store.query<Grant>({
        name: 'take_call',
        text: `SELECT wait_ms AS "waitMs", coalesce(pauses, '{}') AS "pausesMs" FROM musette.take_call($1)`,
        values: [requestsPerMinute],
      })
      if (!grant) throw new Error('a function returns a row')
      return grant
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
