import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { fetchWanted } from '../../../src/core/mirror/sync-activities.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { readWords } from '../../kit/table.ts'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored, findListed } from './truth.ts'

const ACTIVITIES = 8

describe('the mirror of the activities', () => {
  let rig: Rig
  beforeEach(async () => {
    rig = await openRig({ activities: ACTIVITIES, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS })
  })
  afterEach(() => rig.close())

  /** A mirror that calls `after` on each response with samples. */
  const mirrorWith = (
    after: (answers: number, answer: { body: Buffer }) => Promise<void> | void,
  ): MirrorDeps => {
    let answers = 0
    const serviceOf: MirrorDeps['serviceOf'] = (account) => {
      const service = rig.app.mirror.serviceOf(account)
      return {
        ...service,
        async fetchActivity(...asked) {
          const answer = await service.fetchActivity(...asked)
          await after(++answers, answer)
          return answer
        },
      }
    }
    return { ...rig.app.mirror, serviceOf }
  }

  it('equals the service after the first pass, sample by sample', async () => {
    // Tokens that expire during a pass are refreshed.
    await rig.steer('POST', 'tokens/expire')
    const counts = { listed: ACTIVITIES, fetched: ACTIVITIES, unchanged: 0, failed: 0, pending: 0 }
    expect(await rig.sync()).toMatchObject(counts)
    await expectMirrored(rig)
    // A field that a column failed to find would be among them.
    const unknown = readWords('power_source progression.signature progression.xss session.total_elapsed_time')
    expect(
      await rig.sql`select field from training.drift where field not like ${'session_data.%'} order by 1`,
    ).toEqual(unknown.map((name) => ({ field: `summary.${name}` })))
    expect(
      await rig.sql`select kind, outcome, listed, fetched, failed from training.sync_runs order by run_id`,
    ).toEqual([
      { kind: 'backfill', outcome: 'done', listed: ACTIVITIES, fetched: 0, failed: 0 },
      { kind: 'fetch', outcome: 'done', listed: 0, fetched: ACTIVITIES, failed: 0 },
    ])
    await rig.requests()
    expect(await rig.sync()).toMatchObject({ listed: 0, fetched: 0, unchanged: 0 })
    expect(await rig.requests()).toEqual({ 'GET /oauth/activity': 1 })
  })

  it('mirrors a rename and an edit of the power, with revisions', async () => {
    await rig.sync()
    const [path] = await rig.paths()
    await rig.edit(path, { name: 'Renamed\u0000 ride', scale_power: 1.1 })
    expect(await rig.sync()).toMatchObject({ listed: 1, fetched: 1 })
    const [row] = await rig.sql`select name from training.activities where path = ${path}`
    expect(row?.name).toBe('Renamed ride')
    const revisions = await rig.sql`select changes from training.activity_revisions order by observed_at`
    const changes = Object.assign({}, ...revisions.map((revision) => revision.changes))
    expect(changes.name?.[1]).toBe('Renamed ride')
    expect(changes.avg_power?.[1]).toBeGreaterThan(changes.avg_power?.[0])
  })

  it('holds one large answer at a time until it is recorded', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await rig.add({ name, seconds: 40_000 })
    const recorded: unknown[] = []
    const mirror = mirrorWith(async (_, { body }) => {
      const [row] =
        await rig.sql`select count(*)::int as n from training.activities where sample_count > 30000`
      if (body.length > 8_000_000) recorded.push(row?.n)
    })
    await pollActivities(mirror, { account: rig.account })
    await fetchWanted(mirror, { account: rig.account, concurrency: 4 })
    expect(recorded).toEqual([0, 1, 2, 3])
  })

  it('mirrors an old ride that was uploaded late', async () => {
    await rig.sync()
    await rig.add({ late: true, seconds: 600, name: 'Found on an old device' })
    expect(await rig.sync()).toMatchObject({ listed: 1, fetched: 1 })
    await expectMirrored(rig)
  })

  it('retries for 7 days while the samples are not ready', async () => {
    await rig.sync()
    await rig.add({ late: true, seconds: 600, sample_delay_ms: 3_600_000, name: 'Fresh' })
    expect(await rig.sync()).toMatchObject({ failed: 0, pending: 1 })
    const fresh = async (columns: string) =>
      (await rig.rows(`select detail_state, ${columns} from training.activities where name = 'Fresh'`))[0]
    const soon = `next_fetch_at - fetched_at between interval '2 s' and interval '4 s' as soon`
    const waiting = { detail_state: 'awaiting_samples', fetch_attempts: 1, soon: true }
    expect(await fresh(`fetch_attempts, ${soon}`)).toEqual(waiting)
    for (const [age, pending] of [
      ['6 days 23 hours', 1],
      ['1 hour', 0],
    ] as const) {
      await rig.sql`update training.activities set next_fetch_at = now(), first_seen_at = first_seen_at - ${age}::interval
         where name = 'Fresh'`
      expect(await rig.sync()).toMatchObject({ pending, failed: 0 })
    }
    const ended = { detail_state: 'mirrored', sample_count: 0, next_fetch_at: null }
    expect(await fresh('sample_count, next_fetch_at')).toEqual(ended)
  })

  it.each(['html', 'cut', 'no-success'])(
    'continues after an activity that answers %s, logs it, and recovers',
    async (broken) => {
      const [path] = await findListed(rig.sandboxUrl, 'rider')
      await rig.edit(path, { broken })
      expect(await rig.sync()).toMatchObject({ fetched: ACTIVITIES - 1, failed: 1 })
      expect(rig.log.lines.some((line) => line.level === 'error' && line.path === path)).toBe(true)
      await rig.edit(path, { broken: null })
      await rig.sql`update training.activities set next_fetch_at = now() where next_fetch_at is not null`
      expect(await rig.sync()).toMatchObject({ fetched: 1, failed: 0 })
      await expectMirrored(rig)
    },
  )

  it('moves the cursor only together with the rows', async () => {
    await rig.fault('^/oauth/activity$', { kind: 'html', times: 1 })
    await expect(rig.sync()).rejects.toThrow()
    expect(await rig.sql`select * from training.sync_cursors`).toEqual([])
    expect(await rig.sql`select outcome from training.sync_runs`).toEqual([{ outcome: 'failed' }])
    await rig.sync()
    await expectMirrored(rig)
  })

  it('ends a pass if the service is down; the next pass continues', async () => {
    await rig.fault('^/oauth/activity/', { kind: 'status', status: 503, times: 100 })
    await expect(rig.sync()).rejects.toThrow(TransientError)
    await rig.heal()
    await rig.sql`update training.activities set next_fetch_at = now() where next_fetch_at is not null`
    expect(await rig.sync()).toMatchObject({ failed: 0, pending: 0 })
    await expectMirrored(rig)
  }, 120_000)

  it('records the other activities if one cannot be written, and says why', async () => {
    await rig.sql`create function refuse() returns trigger language plpgsql as $$ begin
      if new.detail_state = 'mirrored' and new.path = (select max(path) from training.activities) then
        raise 'no room for this one';
      end if;
      return new; end $$`
    await rig.sql`create trigger refuse before update on training.activities for each row execute function refuse()`
    expect(await rig.sync()).toMatchObject({ fetched: ACTIVITIES - 1, failed: 1 })
    const refused =
      await rig.sql`select path, fetch_error from training.activities where detail_state = 'failed'`
    const path = (await rig.paths()).toSorted().at(-1)
    expect(refused).toEqual([{ path, fetch_error: expect.stringContaining('SQLSTATE P0001') }])
    expect(rig.log.lines.filter(({ msg }) => msg === 'activity failed')).toHaveLength(1)
    await rig.sql`drop trigger refuse on training.activities`
    await rig.sql`update training.activities set next_fetch_at = now() where detail_state = 'failed'`
    expect(await rig.sync()).toMatchObject({ fetched: 1, failed: 0 })
    await expectMirrored(rig)
  })

  const mirrored = async () =>
    (await rig.sql`select 1 from training.activities where detail_state = 'mirrored'`).length

  it('records the other activities before it waits for a locked one', async () => {
    const { store, mirror } = rig.app
    await pollActivities(mirror, { account: rig.account })
    let fetching: Promise<unknown> | undefined
    await store.transaction(async (tx) => {
      await tx.client.query('select from training.activities order by started_at limit 1 for update')
      fetching = fetchWanted(mirror, { account: rig.account, concurrency: 1 })
      await vi.waitFor(async () => expect(await mirrored()).toBe(ACTIVITIES - 1), 10_000)
    })
    await fetching
    expect(await mirrored()).toBe(ACTIVITIES)
    await expectMirrored(rig)
  })

  it('records the received activities when it is stopped', async () => {
    const stop = new AbortController()
    const mirror = mirrorWith((answers) => {
      if (answers === 3) stop.abort(new Error('stopped'))
    })
    await pollActivities(mirror, { account: rig.account })
    const input = { account: rig.account, concurrency: 1, signal: stop.signal }
    await expect(fetchWanted(mirror, input)).rejects.toThrow('stopped')
    expect(await mirrored()).toBe(3)
    await rig.sync()
    await expectMirrored(rig)
  })

  it('lists everything again if the service’s clock was set back', async () => {
    await rig.sync()
    await rig.steer('PATCH', 'settings', { clock_skew_ms: -3 * 3_600_000 })
    await rig.add({ seconds: 600, name: 'After the clock was set' })
    await rig.sync()
    const [row] =
      await rig.sql`select detail_state from training.activities where name = 'After the clock was set'`
    expect(row).toEqual({ detail_state: 'mirrored' })
    await rig.steer('PATCH', 'settings', { clock_skew_ms: 0 })
  })
})
