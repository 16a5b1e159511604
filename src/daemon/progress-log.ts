import { formatDuration, MINUTE, SECOND } from '../kit/durations.ts'
import { findStandings } from '../store/standing.ts'
import type { House } from './house.ts'

/** How often a long backfill says how far it is. */
const SAY_EVERY_MS = MINUTE
/** Fewer activities than this are here before anybody has read the line. */
const WORTH_SAYING = 20

/** Makes what says in the log, once a minute at most, how many activities of each account are left to fetch. */
export function makeProgressLog(house: House): (left: number) => Promise<void> {
  let saidAt = 0
  return async (left) => {
    const now = house.mirror.now().getTime()
    if (left < WORTH_SAYING || Math.abs(now - saidAt) < SAY_EVERY_MS) return
    saidAt = now
    for (const standing of await house.store.read(findStandings)) {
      const { account, activities, wanted, fetched_per_minute: rate, seconds_to_go: seconds } = standing
      if (wanted < WORTH_SAYING) continue
      const pace = rate !== null && { perMinute: Math.round(rate) }
      const toGo = seconds !== null && { toGo: formatDuration(seconds * SECOND) }
      house.log.info(
        { account, done: activities - wanted, total: activities, ...pace, ...toGo },
        'fetching activities',
      )
    }
  }
}
