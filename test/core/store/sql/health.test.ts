import { describe, expect, it } from 'vitest'
import { recordRunFinished, recordRunStarted } from '../../../../src/core/store/runs.ts'
import { openScene, type Scene } from './scene.ts'

type Run = {
  resource?: string
  kind: string
  outcome?: 'done' | 'partial' | 'failed'
  error?: string
  listed?: number
}

async function run(
  scene: Scene,
  accountId: number,
  { resource = 'activities', kind, outcome, ...rest }: Run,
) {
  await scene.store.transaction(async (tx) => {
    const runId = await recordRunStarted(tx, { accountId, resource, kind })
    if (outcome)
      await recordRunFinished(tx, runId, { outcome, failed: outcome === 'partial' ? 2 : 0, ...rest })
  })
}

/** What `mirror_health` says of one item: the rows, oldest month first. */
const item = (scene: Scene, name: string) =>
  scene.query(
    `select month, count::int, at, detail from training.mirror_health where item = $1 order by account_id, month`,
    [name],
  )

describe('mirror_health', () => {
  it('says when the list was last polled and last compared completely, and why the last comparison changed nothing', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    expect(await item(scene, 'last good poll')).toEqual([
      { month: null, count: null, at: null, detail: null },
    ])
    await run(scene, accountId, { kind: 'backfill', outcome: 'done' })
    await run(scene, accountId, { kind: 'reconcile', outcome: 'done', listed: 31 })
    await run(scene, accountId, { kind: 'poll', outcome: 'partial' })
    await run(scene, accountId, { kind: 'poll', outcome: 'failed', error: 'no answer' })
    await run(scene, accountId, { kind: 'reconcile', outcome: 'failed', error: 'the list has shrunk' })
    await run(scene, accountId, { kind: 'reconcile' })
    const ends = await scene.query(
      `select kind, finished_at from training.sync_runs where outcome in ('done', 'partial') order by run_id`,
    )
    expect(await item(scene, 'last good poll')).toMatchObject([{ at: ends[2]?.finished_at }])
    expect(await item(scene, 'last reconcile')).toMatchObject([
      { at: ends[1]?.finished_at, count: 31, detail: 'the list has shrunk' },
    ])
  })

  it('has the last run of each resource and kind, with its outcome', async () => {
    const scene = await openScene()
    const [one, two] = [await scene.account('one'), await scene.account('two')]
    await run(scene, one, { kind: 'poll', outcome: 'done' })
    await run(scene, one, { kind: 'poll', outcome: 'failed', error: 'no answer' })
    await run(scene, one, { kind: 'fetch', outcome: 'partial' })
    await run(scene, one, { resource: 'workouts', kind: 'list' })
    await run(scene, two, { kind: 'poll', outcome: 'done' })
    const runs = await scene.query(
      `select account, item, count::int, detail from training.mirror_health where item like 'last run of %' order by account, item`,
    )
    expect(runs).toEqual([
      { account: 'one', item: 'last run of activities fetch', count: 2, detail: 'partial' },
      { account: 'one', item: 'last run of activities poll', count: 0, detail: 'failed: no answer' },
      { account: 'one', item: 'last run of workouts list', count: null, detail: 'running' },
      { account: 'two', item: 'last run of activities poll', count: 0, detail: 'done' },
    ])
  })

  it('counts activities that wait or failed, since when and why, and leaves out absent ones', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    const ride = (detailState: string, more = {}) =>
      scene
        .ride(accountId, '2024-05-01T06:00:00Z', more)
        .then((id) =>
          scene.query('update training.activities set detail_state = $2 where activity_id = $1', [
            id,
            detailState,
          ]),
        )
    await ride('mirrored')
    await ride('wanted')
    await ride('failed', { fetch_error: 'not JSON' })
    await ride('failed', { absent_since: new Date() })
    await scene.query(
      `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
       values ($1, 'a', 'a.fit', 1, 'unconfirmed', 'the answer was lost', '2024-05-01T00:00Z'), ($1, 'b', 'b.fit', 1, 'mirrored', null, now())`,
      [accountId],
    )
    const [{ wanted_at: since } = {}] = await scene.query(
      `select wanted_at from training.activities where detail_state = 'failed' and absent_since is null`,
    )
    expect(await item(scene, 'activities mirrored')).toMatchObject([{ count: 1, at: null }])
    expect(await item(scene, 'activities wanted')).toMatchObject([{ count: 1 }])
    expect(await item(scene, 'activities awaiting samples')).toMatchObject([{ count: 0, at: null }])
    expect(await item(scene, 'activities failed')).toMatchObject([
      { count: 1, at: since, detail: 'not JSON' },
    ])
    expect(await item(scene, 'uploads on their way')).toMatchObject([
      { count: 1, at: new Date('2024-05-01T00:00:00Z'), detail: 'the answer was lost' },
    ])
  })

  it('names the months without activities, from the first ride to this month', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    await scene.ride(accountId, '2023-11-30T23:30:00Z', { zone: 'Asia/Tokyo' })
    await scene.ride(accountId, '2024-02-15T06:00:00Z')
    await scene.ride(accountId, '2024-03-15T06:00:00Z', { absent_since: new Date() })
    await scene.ride(accountId, '2024-05-15T06:00:00Z')
    const months = (await item(scene, 'month without activities')).map(({ month }) => String(month))
    expect(months.filter((month) => month < '2024-07-01')).toEqual([
      '2024-01-01',
      '2024-03-01',
      '2024-04-01',
      '2024-06-01',
    ])
    const [{ month } = {}] = await scene.query(
      `select date_trunc('month', now() at time zone 'UTC')::date as month`,
    )
    expect(months.at(-1)).toBe(month)
  })

  it('says that an account needs a login, and why', async () => {
    const scene = await openScene()
    await scene.account()
    await scene.query(`update training.accounts set needs_login = true, last_error = 'refused'`)
    expect(await item(scene, 'needs login')).toMatchObject([{ count: 1, detail: 'refused' }])
    await scene.query(`update training.accounts set needs_login = false, last_error = null`)
    expect(await item(scene, 'needs login')).toMatchObject([{ count: 0, detail: null }])
  })
})
