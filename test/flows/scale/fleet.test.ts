import { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { runsWith } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForTest } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { type Fleet, openFleet } from './fleet.ts'

const WITHOUT_REDIS = 'redis-server is not installed; run: apt-get install redis-server'

describe.each(['postgres', 'redis'] as const)('two daemons with their queue in %s', (queue) => {
  it('lose and duplicate nothing through kills and an outage of Postgres', async ({ skip }) => {
    if (queue === 'redis' && !runsWith(inject('redisUrl'))) skip(WITHOUT_REDIS)
    const fleet = await openForTest(openFleet(queue))
    const life = makeLife(fleet)
    await planBadDay(fleet)
    // Each is killed while it works, and another takes its place; one of them waits for the response to the first upload.
    for (const place of fleet.members.keys()) {
      await life.stir()
      await busy(fleet, place % 2 === 0 ? 'upload' : 'fetch')
      const isAccepted = async () => (await uploadsOf(fleet)).accepted > 0
      await eventually(isAccepted, { everyMs: 10, what: 'a file accepted' })
      await fleet.replace(place)
    }
    if (fleet.redis) {
      await life.stir()
      const redis = new Redis(fleet.redis.url)
      await redis.flushall()
      redis.disconnect()
      await life.stir()
      await fleet.redis.kill()
      await life.stir()
      await fleet.redis.start()
    }
    await fleet.steer('POST', 'recalculate')
    await busy(fleet, 'fetch')
    fleet.line.become('cut')
    await life.stir()
    // Wait until each daemon has noticed the outage; no clock is needed.
    for (const member of fleet.members) await member.waitForLine(/"level":40.*database/)
    fleet.line.become('good')
    await expectWhole(fleet, life)
  }, 480_000)
})

/** Expects that nothing is lost or duplicated once the fleet has caught up, and that no daemon had to be restarted. */
async function expectWhole(own: Fleet, life: Life): Promise<void> {
  await own.steer('DELETE', 'faults')
  await own.steer('PATCH', 'settings', { latency_ms: 0 })
  const states = () => own.rows('select state, count(*)::int as n from training.uploads group by state')
  await eventually(
    async () => {
      await passWaits(own)
      expect(await states()).toEqual([{ state: 'mirrored', n: life.dropped() }])
      return true
    },
    { timeoutMs: 150_000, everyMs: 5_000, what: 'every file in SQL' },
  )
  await eventually(() => expectMirrored(own).then(() => true), { everyMs: 500 })
  const left = async () => (await own.files('')).filter((name) => name !== OWNER_FILE)
  await eventually(async () => (await left()).length === 0)
  expect(await uploadsOf(own)).toEqual({ accepted: life.dropped(), refused: 0 })
  expect(await own.files('failed')).toEqual([])
  // A kill between two steps of a move leaves a second name of the moved file.
  const done = (await own.files('done')).filter((name) => !name.startsWith('.moving-'))
  expect(done).toHaveLength(life.dropped())
  const doubled = 'select from training.samples group by activity_id, t having count(*) > 1 limit 1'
  expect(await own.rows(doubled)).toEqual([])
  for (const member of own.members) expect(await member.kill('SIGTERM')).toMatchObject({ code: 0 })
}

/** Waits until an upload or a fetch is running; several watchers send at once, so both rarely run at the same moment. */
async function busy(own: Fleet, work: 'upload' | 'fetch'): Promise<void> {
  const query =
    work === 'upload'
      ? `select from training.uploads where state = 'sending' limit 1`
      : `select from training.activities where detail_state = 'wanted' limit 1`
  const isBusy = async () => (await own.rows(query)).length > 0
  await eventually(isBusy, { everyMs: 10, what: `${work} under way` })
}

/** The events at the service and in the drop folder while the fleet is disturbed. */
type Life = {
  /** one round: files dropped, rides added, edited and deleted */
  stir(): Promise<void>
  /** number of different dropped files */
  dropped(): number
}

type Listed = { path: string; listed: boolean; uploaded: boolean }

/** Makes a rider's events, different in every round. */
function makeLife(fleet: Fleet): Life {
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

/** Plans the failures of a bad day of the service, and slows every response, so that something is always running. */
async function planBadDay(fleet: Fleet): Promise<void> {
  await fleet.steer('PATCH', 'settings', { latency_ms: 100 })
  const faults = [
    // The sender of the first file is killed before the response.
    { path: '^/oauth/upload$', kind: 'slow', duration_ms: 600_000 },
    { path: '^/oauth/activity', kind: 'status', status: 500, probability: 0.05, times: 'always' },
    { path: '^/oauth/activity/', kind: 'reset', probability: 0.05, times: 'always' },
    { path: '^/oauth/upload$', kind: 'lost-answer', probability: 0.2, times: 'always' },
  ]
  for (const fault of faults) await fleet.steer('POST', 'faults', fault)
}

/** Counts the files that reached the service. */
async function uploadsOf(fleet: Fleet) {
  const { uploads } = await fleet.steer('GET', 'counts')
  return uploads as { accepted: number; refused: number }
}

/**
 * Skips the waits after which the ledger considers a sender dead and a lost response a failure. Leaves alone what was sent within the last
 * seconds, because its sender may be alive.
 */
async function passWaits(fleet: Fleet): Promise<void> {
  await fleet.rows(
    `update training.uploads set next_try_at = now(), resend_after = now()
     where state in ('sending', 'unconfirmed') and sent_at < now() - interval '5 s'`,
  )
  await fleet.touch()
}
