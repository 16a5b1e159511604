import { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { describeWithRedis } from '../../kit/redis.ts'
import { expectMirrored } from '../../mirror/truth.ts'
import { type Fleet, openFleet } from './fleet.ts'
import { endBadDay, type Life, makeLife, passWaits, planBadDay } from './life.ts'

let fleet: Fleet | undefined
afterEach(async () => {
  await fleet?.close()
  fleet = undefined
})

/** Expects that nothing is lost and nothing doubled, as soon as the fleet has caught up; and that nobody had to be started again. */
async function expectWhole(own: Fleet, life: Life): Promise<void> {
  await endBadDay(own)
  const states = () => own.rows('select state, count(*)::int as n from training.uploads group by state')
  await eventually(
    async () => {
      await passWaits(own)
      expect(await states()).toEqual([{ state: 'mirrored', n: life.dropped() }])
      return true
    },
    { timeoutMs: 90_000, everyMs: 5_000, what: 'every file in SQL' },
  )
  await eventually(() => expectMirrored(own).then(() => true), { timeoutMs: 60_000, everyMs: 500 })
  await eventually(async () => (await own.files('')).length === 0, { timeoutMs: 20_000 })
  expect((await own.steer('GET', 'counts')).uploads).toEqual({ accepted: life.dropped(), refused: 0 })
  expect(await own.files('failed')).toEqual([])
  // One that is killed between two steps of a move leaves a second name of the moved file behind.
  const done = (await own.files('done')).filter((name) => !name.startsWith('.moving-'))
  expect(done).toHaveLength(life.dropped())
  expect(
    await own.rows(
      'select activity_id, t from training.samples group by activity_id, t having count(*) > 1 limit 1',
    ),
  ).toEqual([])
  for (const member of own.members) expect(await member.kill('SIGTERM')).toMatchObject({ code: 0 })
}

/** Waits until uploads and fetches are under way. */
async function busy(own: Fleet): Promise<void> {
  await eventually(
    async () => {
      const [seen] = await own.rows(
        `select exists (select from training.uploads where state = 'sending') as sends,
           exists (select from training.activities where detail_state = 'wanted') as wants`,
      )
      return seen?.sends === true && seen.wants === true
    },
    { timeoutMs: 40_000, everyMs: 10, what: 'uploads and fetches under way' },
  )
}

describeWithRedis('four daemons on one Redis, one database and one folder', () => {
  it('lose and double nothing when each is killed, Redis is flushed and restarted, and Postgres is away', async () => {
    fleet = await openFleet({ size: 4, queue: 'redis', activities: 40 })
    const life = makeLife(fleet)
    await planBadDay(fleet)
    for (const place of fleet.members.keys()) {
      await life.stir()
      await busy(fleet)
      await fleet.replace(place)
    }

    await life.stir()
    const redis = new Redis(fleet.redis?.url ?? '')
    await redis.flushall()
    redis.disconnect()
    await life.stir()
    await fleet.redis?.kill()
    await life.stir()
    await fleet.redis?.start()
    await fleet.steer('POST', 'recalculate')

    await busy(fleet)
    fleet.line.become('cut')
    await life.stir()
    // Long enough that each has noticed it; no clock is asked.
    for (const member of fleet.members) await member.waitForLine(/"level":40.*database/)
    fleet.line.become('good')
    await life.stir()
    await expectWhole(fleet, life)
  }, 240_000)
})

describe('two daemons with their queue in Postgres', () => {
  it('lose and double nothing when each is killed and Postgres is away', async () => {
    fleet = await openFleet({ size: 2, queue: 'postgres', activities: 30 })
    const life = makeLife(fleet)
    await planBadDay(fleet)
    for (const place of fleet.members.keys()) {
      await life.stir()
      await busy(fleet)
      await fleet.replace(place)
    }
    await life.stir()
    await busy(fleet)
    fleet.line.become('cut')
    await life.stir()
    for (const member of fleet.members) await member.waitForLine(/"level":40.*database/)
    fleet.line.become('good')
    await expectWhole(fleet, life)
  }, 240_000)
})
