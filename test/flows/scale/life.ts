import { makeRide } from '../../kit/ride.ts'
import type { Fleet } from './fleet.ts'

/** What goes on at the service and in the drop folder while the fleet is troubled. */
export type Life = {
  /** one round of it: files dropped, rides added, edited and deleted */
  stir(): Promise<void>
  /** how many different files were dropped */
  dropped(): number
}

type Listed = { path: string; listed: boolean; uploaded: boolean }

/** Makes the life of a rider whose every round is another. */
export function makeLife(fleet: Fleet): Life {
  let rounds = 0
  let dropped = 0
  return {
    async stir() {
      rounds += 1
      for (let file = 0; file < 3; file++) {
        dropped += 1
        const start = new Date(Date.UTC(2026, 0, dropped, 8)).toISOString()
        await fleet.drop(`ride-${dropped}.fit`, makeRide({ start, seed: dropped, seconds: 120 }))
      }
      await fleet.steer('POST', 'activities', { name: `Added ${rounds}`, seconds: 300 })
      const { activities } = (await fleet.steer('GET', 'activities')) as { activities: Listed[] }
      const [edited, deleted] = activities.filter(({ listed, uploaded }) => listed && !uploaded).slice(rounds)
      if (!edited || !deleted) throw new Error('the history is too short for so many rounds')
      const edit = { name: `Edited ${rounds}`, scale_power: 1 + rounds / 100 }
      await fleet.steer('PATCH', `activities/${edited.path}`, edit)
      await fleet.steer('DELETE', `activities/${deleted.path}`)
    },
    dropped: () => dropped,
  }
}

/** Plans the failures that a bad day of the service has, and makes every answer slow, so that something is always under way. */
export async function planBadDay(fleet: Fleet): Promise<void> {
  await fleet.steer('PATCH', 'settings', { latency_ms: 100 })
  const always = { times: 'always' }
  await fleet.steer('POST', 'faults', {
    ...always,
    path: '^/oauth/activity',
    kind: 'status',
    status: 500,
    probability: 0.05,
  })
  await fleet.steer('POST', 'faults', {
    ...always,
    path: '^/oauth/activity/',
    kind: 'reset',
    probability: 0.05,
  })
  await fleet.steer('POST', 'faults', {
    ...always,
    path: '^/oauth/upload$',
    kind: 'lost-answer',
    probability: 0.2,
  })
}

/** Ends the bad day. */
export async function endBadDay(fleet: Fleet): Promise<void> {
  await fleet.steer('DELETE', 'faults')
  await fleet.steer('PATCH', 'settings', { latency_ms: 0 })
}

/**
 * Lets the minutes pass that the ledger waits before it believes a sender dead and a lost answer no acceptance; what was
 * sent within the last seconds is left alone, because its sender may live.
 */
export async function passWaits(fleet: Fleet): Promise<void> {
  await fleet.rows(
    `update training.uploads set next_try_at = now(), settle_after = now()
     where state in ('sending', 'unconfirmed') and sent_at < now() - interval '5 s'`,
  )
  await fleet.touch()
}
