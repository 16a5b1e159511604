import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { scrubActivities } from '../../../src/core/mirror/compare-activities.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import { reconcileActivities } from '../../../src/core/mirror/reconcile-activities.ts'
import { findActivity } from '../../../src/core/store/activities/wanted.ts'
import { resyncAccount, syncAccount, verifyAccount } from '../../../src/program/app/sync-account.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 12

describe('reconcile', () => {
  let rig: Rig
  const sync = (options: { full?: boolean; acceptRemovals?: boolean } = {}) =>
    syncAccount(rig.app, { name: 'default', ...options })
  const full = () => sync({ full: true })
  const rowOf = async (path: string | undefined) =>
    (
      await rig.rows(
        'select *, absent_since is not null as absent from training.activities where path = $1',
        [path],
      )
    )[0]
  const paths = async () =>
    (await rig.rows('select path from training.activities order by started_at desc')).map(({ path }) =>
      String(path),
    )
  const lastRun = async () =>
    (
      await rig.rows(
        `select outcome, error_code, error, absent from training.sync_runs where kind = 'reconcile' order by run_id desc limit 1`,
      )
    )[0]
  const errors = () => rig.log.lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)

  beforeEach(async () => {
    rig = await openRig({
      activities: ACTIVITIES,
      longestActivitySeconds: LONGEST_ACTIVITY_SECONDS,
      env: { MUSETTE_HISTORY_START: '2022-01-01' },
    })
    await sync()
  })
  afterEach(() => rig.close())

  it('marks activities that are no longer listed, and keeps and counts their rows', async () => {
    const [path] = await paths()
    const samplesOf = () =>
      rig.rows(
        'select count(*)::int as n from training.samples join training.activities using (activity_id) where path = $1',
        [path],
      )
    const samples = await samplesOf()
    await rig.steer('DELETE', `activities/${path}`)
    expect(await sync()).toMatchObject({ absent: 0 })
    expect(await full()).toMatchObject({ listed: ACTIVITIES - 1, absent: 1, failed: 0 })
    expect(await rowOf(path)).toMatchObject({ absent: true, detail_state: 'mirrored' })
    expect(samples[0]?.n).toBeGreaterThan(0)
    expect(await samplesOf()).toEqual(samples)
    expect(await lastRun()).toMatchObject({ outcome: 'done', absent: 1 })
    expect(await full()).toMatchObject({ absent: 0 })
    await expectMirrored(rig)
  })

  it('brings back activities that are listed again, by a poll or a whole list', async () => {
    const [first, second] = await paths()
    for (const path of [first, second]) await rig.steer('DELETE', `activities/${path}`)
    await full()
    await rig.steer('POST', `activities/${first}/revive`)
    await sync()
    expect(await rowOf(first)).toMatchObject({ absent: false, detail_state: 'mirrored' })
    await rig.steer('POST', `activities/${second}/revive`)
    const { app, account } = rig
    const found = await reconcileActivities(app.mirror, { account })
    expect(found).toEqual({ listed: ACTIVITIES, inserted: 0, marked: 1, absent: 0 })
    expect(await rowOf(second)).toMatchObject({ absent: false, detail_state: 'wanted' })
    await sync()
    await expectMirrored(rig)
  })

  it('fetches activities that are missing or listed differently', async () => {
    const [lost, renamed] = await paths()
    await rig.rows(
      'delete from training.samples where activity_id = (select activity_id from training.activities where path = $1)',
      [lost],
    )
    await rig.rows('delete from training.activities where path = $1', [lost])
    await rig.rows(`update training.activities set name = 'Missed' where path = $1`, [renamed])
    await rig.steer('POST', 'counts/reset')
    expect(await full()).toMatchObject({ listed: ACTIVITIES, fetched: 1, unchanged: 1, absent: 0 })
    await expectMirrored(rig)
  })

  it('fetches no activity when nothing differs', async () => {
    await rig.steer('POST', 'counts/reset')
    expect(await full()).toMatchObject({ listed: ACTIVITIES, fetched: 0, unchanged: 0 })
    const { requests } = (await rig.steer('GET', 'counts')) as { requests: Record<string, number> }
    expect(Object.keys(requests)).toEqual(['GET /oauth/activity'])
  })

  it.each([
    ['an empty list', ACTIVITIES],
    ['a list of which half is gone', ACTIVITIES / 2],
  ])('changes nothing on %s, says why, and accepts it on request', async (_, gone) => {
    for (const path of (await paths()).slice(0, gone)) await rig.steer('DELETE', `activities/${path}`)
    expect(await full()).toMatchObject({ absent: 0, failed: 1 })
    expect(await rig.rows('select 1 from training.activities where absent_since is not null')).toEqual([])
    expect(await lastRun()).toMatchObject({ outcome: 'failed', error_code: 'list_shrunken' })
    expect(errors().join()).toContain('run: musette sync --full --accept-removals')
    expect(await sync({ full: true, acceptRemovals: true })).toMatchObject({ absent: gone, failed: 0 })
    await expectMirrored(rig)
  })

  it('changes nothing on a list with an entry that cannot be read', async () => {
    const [path] = await paths()
    await rig.steer('DELETE', `activities/${path}`)
    const body = { success: true, activities: [{ name: 'no path' }] }
    await rig.steer('POST', 'faults', {
      method: 'GET',
      path: '^/oauth/activity$',
      kind: 'status',
      status: 200,
      body,
      times: 'always',
    })
    expect(await full()).toMatchObject({ absent: 0, failed: 1 })
    expect(await lastRun()).toMatchObject({ outcome: 'failed', error_code: 'list_unreadable' })
    await rig.steer('DELETE', 'faults')
    expect(await full()).toMatchObject({ absent: 1, failed: 0 })
  })

  it('changes nothing when the list fails', async () => {
    const [path] = await paths()
    await rig.steer('DELETE', `activities/${path}`)
    await rig.steer('POST', 'faults', {
      method: 'GET',
      path: '^/oauth/activity$',
      kind: 'html',
      times: 'always',
    })
    await expect(full()).rejects.toThrow('not JSON')
    expect(await rowOf(path)).toMatchObject({ absent: false })
  })

  const verify = (path: string, repair: boolean) =>
    verifyAccount(rig.app, { name: 'default', choice: { paths: [path] }, repair, onEnd: () => undefined })
  const resync = (path: string) => resyncAccount(rig.app, { name: 'default', choice: { paths: [path] } })
  const want = (path: string) =>
    rig.rows(`update training.activities set detail_state = 'wanted' where path = $1`, [path])

  it.each<[string, (path: string) => Promise<unknown>, object]>([
    ['a pass', (path) => want(path).then(() => sync()), { absent: 1, failed: 0, pending: 0 }],
    ['fetching it again', resync, { marked: 1, fetched: 0, absent: 1, failed: 0 }],
    ['verify --repair', (path) => verify(path, true), { different: 1, repaired: 1, failed: 0 }],
    [
      'the comparison of each day',
      async (path) => {
        await rig.rows('update training.activities set verified_at = null where path = $1', [path])
        const { mirror } = rig.app
        return scrubActivities(mirror, { account: rig.account, limit: 1 })
      },
      { compared: 1, different: 1 },
    ],
    [
      'a fetch of the daemon',
      async (path) => {
        await want(path)
        const { activity_id: id } = (await rowOf(path)) ?? {}
        const activity = await rig.app.mirror.store.read((tx) => findActivity(tx, Number(id)))
        if (!activity) throw new Error('it is mirrored')
        const { mirror } = rig.app
        return { result: await mirrorActivity(mirror, { account: rig.account, activity }) }
      },
      { result: 'absent' },
    ],
  ])('marks an activity that neither the service nor its list knows any more: %s', async (_, act, counts) => {
    const [path = ''] = await paths()
    await rig.steer('DELETE', `activities/${path}`)
    expect(await verify(path, false)).toMatchObject({ different: 1, repaired: 0, failed: 0 })
    expect(await rowOf(path)).toMatchObject({ absent: false })
    expect(await act(path)).toMatchObject(counts)
    expect(await rowOf(path)).toMatchObject({ absent: true })
    expect(await sync()).toMatchObject({ failed: 0, pending: 0 })
    await rig.steer('POST', `activities/${path}/revive`)
    expect(await sync()).toMatchObject({ failed: 0, pending: 0 })
    await expectMirrored(rig)
  })

  it.each<[string, object]>([
    ['that the list still names', { method: 'GET', path: '^/oauth/activity/', kind: 'status', status: 404 }],
    ['of which the list cannot be had', { method: 'GET', path: '^/oauth/activity$', kind: 'html' }],
  ])(
    'keeps an activity that the service does not know and %s, with the reason and a next fetch',
    async (_, fault) => {
      const [path = ''] = await paths()
      if ('status' in fault === false) await rig.steer('DELETE', `activities/${path}`)
      await rig.steer('POST', 'faults', { ...fault, times: 'always' })
      expect(await resync(path)).toMatchObject({ fetched: 0, absent: 0, failed: 1 })
      expect(await verify(path, true).catch((error) => error)).toMatchObject({ code: 'unknown_activity' })
      expect(await rowOf(path)).toMatchObject({
        ...{ absent: false, detail_state: 'failed', next_fetch_at: expect.any(Date) },
        fetch_error: expect.stringContaining('404'),
      })
    },
  )

  it('ignores activities outside of the list, and new uploads that are not listed yet', async () => {
    const [old] = (await paths()).slice(-1)
    await rig.steer('DELETE', `activities/${old}`)
    await rig.rows(`update training.activities set started_at = '2001-01-01Z' where path = $1`, [old])
    await rig.rows(
      `insert into training.activities (account_id, path, listed_at, wanted_at, detail_state, next_fetch_at)
       select 1, path, at, at, state, now() + interval '1 hour'
       from (values ('uploaded', now() - interval '6 days 23 hours', 'awaiting_samples'),
         ('never listed', now() - interval '7 days 1 minute', 'awaiting_samples'), ('unknown there', now(), 'failed')) of (path, at, state)`,
    )
    expect(await full()).toMatchObject({ absent: 2 })
    const absent = await rig.rows(
      'select path from training.activities where absent_since is not null order by path',
    )
    expect(absent).toEqual([{ path: 'never listed' }, { path: 'unknown there' }])
    expect(await rowOf(old)).toMatchObject({ absent: false })
  })
})
