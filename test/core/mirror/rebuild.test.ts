import { beforeEach, describe, expect, it, vi } from 'vitest'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import { rebuildActivities } from '../../../src/core/mirror/rebuild-activities.ts'
import { findRebuildProgress } from '../../../src/core/store/activities/raw-documents.ts'
import { upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { findActivity } from '../../../src/core/store/activities/wanted.ts'
import { rebuildAccount } from '../../../src/program/app/rebuild-account.ts'
import { useRig } from './rig.ts'
import { DAMAGE, readTables } from './tables.ts'

const ACTIVITIES = 13

describe('rebuild', () => {
  const rebuild = (paths?: string[]) => rebuildAccount(rig.app, { name: 'default', paths })
  const tables = () => readTables(rig.databaseUrl)
  const pathOf = async (activityId: number) =>
    String((await rig.sql`select path from training.activities where activity_id = ${activityId}`)[0]?.path)

  const rig = useRig({ activities: ACTIVITIES - 1, longestActivitySeconds: 300 })
  beforeEach(async () => {
    await rig.renew()
    // Texts and numbers, in fields that have no column.
    const sample = { mm: 0.25, label: 'climb' }
    await rig.add({ seconds: 400, name: 'Fields beyond the document', sample })
    await rig.sync()
  })

  it('leaves a correct mirror unchanged, row for row, and sends no request', async () => {
    const edited = await pathOf(2)
    await rig.edit(edited, { name: 'Edited', scale_power: 1.2 })
    await rig.sync()
    // A list rename after the detail was fetched, and the time of a response equal to the one before.
    const entry = {
      path: await pathOf(3),
      name: 'Renamed later',
      description: 'too',
      activityType: 'Cycling',
    }
    const start = { startedAt: null, timezone: null, startedAtLocal: null, timezoneSource: null }
    const { accountId } = rig.account
    await rig.app.store.transaction((tx) =>
      upsertListed(tx, { accountId, entries: [{ ...entry, ...start }], listedAt: new Date() }),
    )
    await rig.sql`update training.activities set fetched_at = fetched_at + interval '1 hour' where activity_id = 4`
    await rig.sql`update training.activities set absent_since = now() where activity_id = 5`
    await rig.sql`update training.activities set detail_state = 'wanted', summary_hash = null where activity_id = 9`
    await rig.requests()
    const before = await tables()
    const feed = () => rig.sql`select max(change_id) as last from training.changes`
    const changes = await feed()
    expect(before.revisions).not.toEqual([])
    expect(before.sample_extras.length).toBeGreaterThan(2)
    expect(await rebuild()).toMatchObject({
      rebuilt: ACTIVITIES,
      newer: 0,
      failures: [],
      withoutDocument: [],
    })
    expect(await tables()).toEqual(before)
    expect(await feed()).toEqual(changes)
    expect(await rig.requests()).toEqual({})
    const runs =
      await rig.sql`select kind, outcome, listed, changed, failed from training.sync_runs where resource = 'rebuild'`
    expect(runs).toEqual([
      { kind: 'by_hand', outcome: 'done', listed: ACTIVITIES, changed: ACTIVITIES, failed: 0 },
    ])
  })

  it('repairs every derived value that was damaged or deleted', async () => {
    await rig.sql`update training.activities set fetched_at = fetched_at + interval '1 hour' where activity_id = 8`
    const before = await tables()
    for (const statement of DAMAGE) await rig.rows(statement)
    expect(await tables()).not.toEqual(before)
    expect(await rebuild()).toMatchObject({ rebuilt: ACTIVITIES, failures: [] })
    expect(await tables()).toEqual(before)
  })

  it('writes neither correct rows nor correct samples', async () => {
    const whole = await tables()
    await rig.sql`update training.activities set xss = -1 where activity_id = 6`
    // A value in a column that the service does not send, an extra sample, a missing sample.
    await rig.sql`update training.samples set pws = 1 where activity_id = 2 and t = (select min(t) from training.samples
      where activity_id = 2)`
    await rig.sql`insert into training.samples (activity_id, t, pws) values (3, now(), 1)`
    await rig.sql`delete from training.samples where activity_id = 4 and t = (select max(t) from training.samples where activity_id = 4)`
    const places = () =>
      rig.sql`select activity_id, md5(string_agg(ctid::text, ${' '} order by ctid)) from training.samples group by 1 order by 1`
    const placed = await places()
    const versions = () => rig.sql`select activity_id, xmin from training.activities order by 1`
    const before = await versions()
    const derived = () =>
      rig.sql`select 'power_curves' as what, ctid::text, xmin from training.power_curves
         union all select 'activity_intensity', ctid::text, xmin from training.activity_intensity
         union all select 'ride_measures', ctid::text, xmin from training.ride_measures
         union all select 'sample_extras', ctid::text, xmin from training.sample_extras where activity_id not in (2, 3, 4)
         order by 1, 2`
    const derivedBefore = await derived()
    await rebuild()
    expect(await derived()).toEqual(derivedBefore)
    const after = await versions()
    const changed = after.filter(({ xmin }, index) => xmin !== before[index]?.xmin)
    expect(changed.map(({ activity_id }) => activity_id)).toEqual([6])
    const moved = (await places()).filter(({ md5 }, index) => md5 !== placed[index]?.md5)
    expect(moved.map(({ activity_id }) => activity_id)).toEqual([2, 3, 4])
    expect((await tables()).samples).toEqual(whole.samples)
  })

  it('names unreadable documents, rebuilds the others, and reads them once refetched', async () => {
    const before = await tables()
    const damaged = {
      1: [`body = substr(body, 1, 300)`, 'gzip cannot be read'],
      2: [`sha256 = repeat('0', 64)`, 'its checksum differs'],
      3: [`encoding = 'identity', body = 'no', sha256 = encode(sha256('no'), 'hex')`, 'is not JSON'],
      4: [`encoding = 'br'`, 'its encoding is "br"'],
    }
    for (const [id, [change]] of Object.entries(damaged))
      await rig.rows(`update training.raw_documents set ${change} where activity_id = ${id}`)
    await rig.sql`update training.samples set power = -1`
    const { rebuilt, failures } = await rebuild()
    expect(rebuilt).toBe(ACTIVITIES - 4)
    for (const [id, [, reason]] of Object.entries(damaged)) {
      const path = await pathOf(Number(id))
      expect(failures.find((failure) => failure.path === path)?.reason).toContain(reason)
      expect(rig.log.lines.find((line) => line.path === path)).toMatchObject({ level: 'error' })
    }
    expect(await rig.sql`select distinct activity_id from training.samples where power = -1`).toHaveLength(4)
    const [run] =
      await rig.sql`select outcome, failed from training.sync_runs where resource = 'rebuild' order by run_id desc limit 1`
    expect(run).toEqual({ outcome: 'partial', failed: 4 })

    const paths = failures.map(({ path }) => path)
    await rig.resync({ paths })
    expect(await rebuild()).toMatchObject({ rebuilt: ACTIVITIES, failures: [], earlier: 0 })
    expect((await tables()).samples).toEqual(before.samples)
  })

  it('keeps the summary of a later response without samples', async () => {
    const path = await pathOf(7)
    const { detail } = await rig.steer<{ detail: { summary: object } }>('GET', `activities/${path}`)
    const summary = { ...detail.summary, xss: 4711 }
    const body = { success: true, name: 'No samples now', summary, session_data: null }
    await rig.answer(`/oauth/activity/${path}`, body)
    await rig.resync({ paths: [path] })
    const before = await tables()
    expect(await rig.sql`select name from training.activities where xss = 4711`).toHaveLength(1)
    await rig.sql`update training.samples set power = -1`
    await rebuild()
    expect(await tables()).toEqual(before)
  })

  it('skips an activity with a newer response', async () => {
    const { mirror, store } = rig.app
    const items =
      await rig.sql`select activity_id as "activityId", path, 1 as bytes from training.activities where activity_id = 10`
    await rig.edit(await pathOf(10), { scale_power: 1.5 })
    const activity = await store.read((tx) => findActivity(tx, 10))
    if (!activity) throw new Error('the activity is there')
    let fetched = false
    const between = {
      ...store,
      transaction: async <T>(work: Parameters<typeof store.transaction<T>>[0]) => {
        if (!fetched) {
          fetched = true
          await mirrorActivity(mirror, { account: rig.account, activity })
        }
        return store.transaction(work)
      },
    }
    const ends: unknown[] = []
    await rebuildActivities(
      { ...mirror, store: between },
      { items: items as never, onEnds: (some) => void ends.push(...some) },
    )
    expect(ends).toMatchObject([{ result: 'newer' }])
    const after = await tables()
    await rebuild()
    expect(await tables()).toEqual(after)
  })

  it('rebuilds the other activities while it waits for a locked row', async () => {
    const before = await tables()
    await rig.sql`update training.samples set power = -1`
    const ends: Array<{ done: number; through: number | undefined }> = []
    const onProgress = async ({ done }: { done: number }) => {
      const progress = await rig.app.store.read((tx) => findRebuildProgress(tx, rig.account.accountId))
      ends.push({ done, through: progress?.through })
    }
    let rebuilding: Promise<unknown> | undefined
    await rig.app.store.transaction(async (tx) => {
      await tx.client.query('select from training.activities where activity_id = 11 for update')
      rebuilding = rebuildAccount(rig.app, { name: 'default', onProgress })
      await vi.waitFor(() => expect(ends).not.toEqual([]), 10_000)
    })
    await rebuilding
    // A rebuild that is stopped after its first progress report resumes with 11.
    expect(ends[0]).toEqual({ done: 10, through: 10 })
    expect(await tables()).toEqual(before)
  })

  it('counts activities without a stored response, and rebuilds only the named ones', async () => {
    await rig.sql`delete from training.raw_documents where activity_id = 12`
    await rig.sql`update training.samples set power = -1`
    const [one, without] = [await pathOf(1), await pathOf(12)]
    expect(await rebuild([one, without])).toMatchObject({ rebuilt: 1, withoutDocument: [without] })
    const spoilt = await rig.sql`select distinct activity_id from training.samples where power = -1`
    expect(spoilt).toHaveLength(ACTIVITIES - 1)
    expect(await rebuild()).toMatchObject({ rebuilt: ACTIVITIES - 1, withoutDocument: [without] })
    await expect(rebuild([one, 'nowhere'])).rejects.toMatchObject({
      code: 'unknown_activity',
      message: expect.stringContaining('no activity nowhere'),
    })
  })
})
