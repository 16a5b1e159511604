import { beforeEach, describe, expect, it } from 'vitest'
import { scrubActivities } from '../../../src/core/mirror/compare-activities.ts'
import { reconcileActivities } from '../../../src/core/mirror/reconcile-activities.ts'
import { findAccountStatuses } from '../../../src/core/store/account-status.ts'
import { verifyAccount } from '../../../src/program/app/sync-account.ts'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 12

describe('reconcile', () => {
  const full = () => rig.sync({ full: true })
  const rowOf = async (path: string | undefined) =>
    (
      await rig.sql`select *, absent_since is not null as absent from training.activities where path = ${path}`
    )[0]
  const lastRun = async () =>
    (
      await rig.sql`select outcome, error_code, error, absent from training.sync_runs where kind = 'reconcile' order by
        run_id desc limit 1`
    )[0]
  const remove = (path: string | undefined) => rig.steer('DELETE', `activities/${path}`)
  const errors = () => rig.log.lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)

  const rig = useRig({
    activities: ACTIVITIES,
    longestActivitySeconds: 60,
    env: { MUSETTE_HISTORY_START: '2022-01-01' },
  })
  beforeEach(async () => {
    await rig.renew()
    await rig.sync({ full: true })
  })

  it('marks activities that are no longer listed, and keeps and counts their rows', async () => {
    const [path] = await rig.paths()
    const samplesOf = () =>
      rig.sql`select count(*)::int as n from training.samples join training.activities using (activity_id) where path = ${path}`
    const samples = await samplesOf()
    await remove(path)
    expect(await rig.sync()).toMatchObject({ absent: 0 })
    expect(await full()).toMatchObject({ listed: ACTIVITIES - 1, absent: 1, failed: 0 })
    expect(await rowOf(path)).toMatchObject({ absent: true, detail_state: 'mirrored' })
    expect(samples[0]?.n).toBeGreaterThan(0)
    expect(await samplesOf()).toEqual(samples)
    expect(await lastRun()).toMatchObject({ outcome: 'done', absent: 1 })
    expect(await full()).toMatchObject({ absent: 0 })
    await expectMirrored(rig)
  })

  it('restores activities that a poll or a whole list names again', async () => {
    const [first, second] = await rig.paths()
    for (const path of [first, second]) await remove(path)
    await full()
    await rig.steer('POST', `activities/${first}/revive`)
    await rig.sync()
    expect(await rowOf(first)).toMatchObject({ absent: false, detail_state: 'mirrored' })
    await rig.steer('POST', `activities/${second}/revive`)
    const { app, account } = rig
    const found = await reconcileActivities(app.mirror, { account })
    expect(found).toEqual({ listed: ACTIVITIES, inserted: 0, marked: 1, absent: 0 })
    expect(await rowOf(second)).toMatchObject({ absent: false, detail_state: 'wanted' })
    await rig.sync()
    await expectMirrored(rig)
  })

  it('fetches only activities that are missing or listed differently', async () => {
    const [lost, renamed] = await rig.paths()
    await rig.sql`delete from training.samples where activity_id = (select activity_id from training.activities where path = ${lost})`
    await rig.sql`delete from training.activities where path = ${lost}`
    await rig.sql`update training.activities set name = 'Missed' where path = ${renamed}`
    expect(await full()).toMatchObject({ listed: ACTIVITIES, fetched: 1, unchanged: 1, absent: 0 })
    await expectMirrored(rig)
    await rig.requests()
    expect(await full()).toMatchObject({ listed: ACTIVITIES, fetched: 0, unchanged: 0 })
    expect(Object.keys(await rig.requests())).toEqual(['GET /oauth/activity'])
  })

  it.each([
    ['an empty list', ACTIVITIES],
    ['a list without half of the activities', ACTIVITIES / 2],
  ])('changes nothing on %s, says why, and accepts it on request', async (_, gone) => {
    for (const path of (await rig.paths()).slice(0, gone)) await remove(path)
    expect(await full()).toMatchObject({ absent: 0, failed: 1 })
    expect(await rig.sql`select 1 from training.activities where absent_since is not null`).toEqual([])
    expect(await lastRun()).toMatchObject({ outcome: 'failed', error_code: 'list_shrunken' })
    expect(errors().join()).toContain('run: musette sync --full --accept-removals')
    expect(await rig.sync({ full: true, acceptRemovals: true })).toMatchObject({ absent: gone, failed: 0 })
    await expectMirrored(rig)
  })

  it('changes nothing if the list fails or has an unreadable entry', async () => {
    const [path] = await rig.paths()
    await remove(path)
    await rig.fault('^/oauth/activity$', { kind: 'html' })
    await expect(full()).rejects.toThrow('not JSON')
    expect(await rowOf(path)).toMatchObject({ absent: false })
    await rig.heal()
    await rig.answer('^/oauth/activity$', { success: true, activities: [{ name: 'no path' }] })
    expect(await full()).toMatchObject({ absent: 0, failed: 1 })
    expect(await lastRun()).toMatchObject({ outcome: 'failed', error_code: 'list_unreadable' })
    await rig.heal()
    expect(await full()).toMatchObject({ absent: 1, failed: 0 })
  })

  it('names and keeps a ride too large for a list, and marks another that is gone', async () => {
    const [large, gone, renamed] = await rig.paths()
    await rig.edit(large, { description: 'x'.repeat(17_000_000) })
    await rig.edit(renamed, { name: 'Renamed beside it' })
    await remove(gone)
    const before = await rig.sql`select updated_from from training.sync_cursors`
    expect(await full()).toMatchObject({ listed: ACTIVITIES - 2, absent: 1, failed: 1 })
    expect(await rowOf(large)).toMatchObject({ absent: false })
    expect(await rowOf(gone)).toMatchObject({ absent: true })
    expect(await rowOf(renamed)).toMatchObject({ name: 'Renamed beside it' })
    const runs = await rig.sql`select kind, outcome, failed, error_code, error from training.sync_runs
      where kind in ('poll', 'reconcile') order by run_id desc limit 2`
    const named = { outcome: 'partial', failed: 1, error_code: 'entries_unreadable' }
    expect(runs).toMatchObject([
      { kind: 'reconcile', ...named },
      { kind: 'poll', ...named },
    ])
    const [{ started_at: at } = {}] =
      await rig.sql`select started_at from training.activities where path = ${large}`
    for (const { error } of runs) expect(error).toContain((at as Date).toISOString().slice(0, 16))
    expect(await rig.sql`select updated_from from training.sync_cursors`).not.toEqual(before)
    await rig.edit(large, { description: 'short' })
    expect(await full()).toMatchObject({ listed: ACTIVITIES - 1, absent: 0, failed: 0 })
    await expectMirrored(rig)
  })

  /** Answers with the mirrored activities in order, each changed by `change`; omits those for which it returns no entry. */
  const answerList = async (change: (entry: object, index: number) => unknown) => {
    const rows = await rig.sql`select path, name, description, activity_type,
      to_char(started_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as date
      from training.activities order by started_at desc`
    const entries = rows.map(({ date, ...entry }) => ({
      ...entry,
      start_date: { date, timezone_type: 3, timezone: 'UTC' },
    }))
    const activities = entries.flatMap((entry, index) => change(entry, index) ?? [])
    await rig.answer('^/oauth/activity$', { success: true, activities })
  }
  const TOO_LARGE = 2 ** 53 + 2

  it.each<[string, (entry: object, index: number) => unknown]>([
    ['with a null path', (entry, index) => (index === 1 ? { ...entry, path: null } : entry)],
    [
      'with a number above 2^53 as path',
      (entry, index) => (index === 1 ? { ...entry, path: TOO_LARGE } : entry),
    ],
    ['that no mirrored activity has', (entry, index) => (index === 1 ? [entry, { name: 'Ride 2' }] : entry)],
    [
      'in place of each of two activities',
      (entry, index) => ([1, 2].includes(index) ? { ...entry, path: null } : entry),
    ],
  ])('marks a removed activity beside an unreadable entry %s, which is named', async (what, change) => {
    const [gone] = await rig.paths()
    await remove(gone)
    await answerList((entry, index) => (index === 0 ? undefined : change(entry, index)))
    const unreadable = what.includes('two') ? 2 : 1
    expect(await full()).toMatchObject({ absent: 1, failed: unreadable })
    const absent = await rig.sql`select path from training.activities where absent_since is not null`
    expect(absent).toEqual([{ path: gone }])
    expect(await lastRun()).toMatchObject({
      outcome: 'partial',
      absent: 1,
      error_code: 'entries_unreadable',
    })
    const [status] = await rig.app.store.read((tx) => findAccountStatuses(tx))
    expect(status?.reconcile_error).toBeNull()
    expect(status?.unreadable_entries).toMatch(/^(".+"|entry 1) \((path|is) .*\)$/)
    const drift = await rig.sql`select kind, times from training.drift where field = 'activities[]'`
    expect(drift).toMatchObject([{ kind: 'type' }])
    await rig.heal()
    expect(await full()).toMatchObject({ absent: 0, failed: 0 })
    expect((await rig.app.store.read((tx) => findAccountStatuses(tx)))[0]?.unreadable_entries).toBeNull()
    await expectMirrored(rig)
  })

  it('keeps an activity that an unreadable entry may hide if its fetch fails', async () => {
    const [gone] = await rig.paths()
    await remove(gone)
    await answerList((entry, index) => (index === 0 ? { ...entry, path: null } : entry))
    await rig.fault(`^/oauth/activity/${gone}$`, { kind: 'status', status: 403 })
    expect(await full()).toMatchObject({ absent: 0, failed: 1 })
    await rig.heal()
    expect(await full()).toMatchObject({ absent: 1, failed: 0 })
  })

  const verify = (path: string, repair: boolean) =>
    verifyAccount(rig.app, { name: 'default', choice: { paths: [path] }, repair, onEnd: () => undefined })
  const resync = (path: string) => rig.resync({ paths: [path] })
  const want = (path: string) =>
    rig.sql`update training.activities set detail_state = 'wanted' where path = ${path}`

  it.each<[string, (path: string) => Promise<unknown>, object]>([
    ['a pass', (path) => want(path).then(() => rig.sync()), { absent: 1, failed: 0, pending: 0 }],
    ['a resync', resync, { marked: 1, fetched: 0, absent: 1, failed: 0 }],
    ['verify --repair', (path) => verify(path, true), { different: 1, repaired: 1, failed: 0 }],
    [
      'the daily comparison',
      async (path) => {
        await rig.sql`update training.activities set verified_at = null where path = ${path}`
        const { mirror } = rig.app
        return scrubActivities(mirror, { account: rig.account, limit: 1 })
      },
      { compared: 1, different: 1 },
    ],
  ])('marks an activity that the service and its list no longer have: %s', async (_, act, counts) => {
    const [path = ''] = await rig.paths()
    await remove(path)
    expect(await verify(path, false)).toMatchObject({ different: 1, repaired: 0, failed: 0 })
    expect(await rowOf(path)).toMatchObject({ absent: false })
    expect(await act(path)).toMatchObject(counts)
    expect(await rowOf(path)).toMatchObject({ absent: true })
    expect(await rig.sync()).toMatchObject({ failed: 0, pending: 0 })
    await rig.steer('POST', `activities/${path}/revive`)
    expect(await rig.sync()).toMatchObject({ failed: 0, pending: 0 })
    await expectMirrored(rig)
  })

  it.each<[string, object]>([
    ['that the list still names', { method: 'GET', path: '^/oauth/activity/', kind: 'status', status: 404 }],
    ['whose list fails', { method: 'GET', path: '^/oauth/activity$', kind: 'html' }],
  ])('keeps an activity that the service does not know and %s, and retries it', async (_, fault) => {
    const [path = ''] = await rig.paths()
    if ('status' in fault === false) await remove(path)
    await rig.steer('POST', 'faults', { ...fault, times: 'always' })
    expect(await verify(path, false)).toMatchObject({ different: 0, failed: 1 })
    expect(await resync(path)).toMatchObject({ fetched: 0, absent: 0, failed: 1 })
    expect(await verify(path, true).catch((error) => error)).toMatchObject({ code: 'unknown_activity' })
    expect(await rowOf(path)).toMatchObject({
      ...{ absent: false, detail_state: 'failed', next_fetch_at: expect.any(Date) },
      fetch_error: expect.stringContaining('404'),
    })
  })

  it('ignores activities outside the list’s window, and new uploads not yet listed', async () => {
    const [old] = (await rig.paths()).slice(-1)
    await remove(old)
    await rig.sql`update training.activities set started_at = '2001-01-01Z' where path = ${old}`
    await rig.sql`insert into training.activities (account_id, path, listed_at, wanted_at, detail_state, next_fetch_at)
       select 1, path, at, at, state, now() + interval '1 hour'
       from (values ('uploaded', now() - interval '6 days 23 hours', 'awaiting_samples'),
         ('never listed', now() - interval '7 days 1 minute', 'awaiting_samples'), ('unknown there', now(), 'failed')) of (path, at, state)`
    expect(await full()).toMatchObject({ absent: 2 })
    const absent =
      await rig.sql`select path from training.activities where absent_since is not null order by path`
    expect(absent).toEqual([{ path: 'never listed' }, { path: 'unknown there' }])
    expect(await rowOf(old)).toMatchObject({ absent: false })
    await rig.sql`delete from training.activities where path = any(${['uploaded', 'never listed', 'unknown there']})`
  })
})
