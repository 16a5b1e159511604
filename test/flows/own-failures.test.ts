import { afterEach, beforeEach, expect, it } from 'vitest'
import { fetchWanted } from '../../src/core/mirror/sync-activities.ts'
import { syncAccount } from '../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../core/mirror/rig.ts'
import { fetchTruth } from '../core/mirror/truth.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 12 })
})
afterEach(() => rig.close())

const byPath = (a: { path?: unknown }, b: { path?: unknown }) => String(a.path).localeCompare(String(b.path))

it('any number of neighbouring activities that answer 500 fail alone', async () => {
  const truth = await fetchTruth(rig.sandboxUrl)
  const broken = truth.slice(0, 7).map(({ path }) => path)
  const path = `^/oauth/activity/(${broken.join('|')})$`
  await rig.steer('POST', 'faults', { path, kind: 'status', status: 500, times: 'always' })
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 5, failed: 7 })
  const failed = await rig.rows(
    `select path, fetch_error, next_fetch_at > now() as again
     from training.activities where detail_state = 'failed'`,
  )
  const reason = { fetch_error: expect.stringContaining('status 500'), again: true }
  expect(failed.toSorted(byPath)).toEqual(broken.map((path) => ({ path, ...reason })).toSorted(byPath))
  // Also when nothing else is asked for.
  await rig.rows('update training.activities set next_fetch_at = now() where next_fetch_at is not null')
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 0, failed: 7 })
  await rig.steer('DELETE', 'faults')
  await rig.rows('update training.activities set next_fetch_at = now() where next_fetch_at is not null')
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 7, failed: 0 })
})

it('activities that fail while the list fails too are an outage', async () => {
  const counts = await syncAccount(rig.app, { name: 'default' })
  expect(counts).toMatchObject({ fetched: 12 })
  await rig.rows(`update training.activities set detail_state = 'wanted', summary_hash = null`)
  await rig.steer('POST', 'faults', {
    path: '^/oauth/activity',
    kind: 'status',
    status: 500,
    times: 'always',
  })
  const { mirror } = rig.app
  const fetched = fetchWanted(mirror, { account: rig.account, concurrency: 4 })
  await expect(fetched).rejects.toMatchObject({ code: 'server_error' })
})

it('a pause made while the clock was ahead ends', async () => {
  await syncAccount(rig.app, { name: 'default' })
  await rig.rows(`update training.activities set detail_state = 'failed', summary_hash = null,
    next_fetch_at = now() + interval '10 years' where activity_id <= 3`)
  await rig.rows(`update musette.credentials set not_before = now() + interval '10 years'`)
  await rig.rows(`insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, next_try_at)
    values (1, repeat('a', 64), 'a.fit', 1, now(), now() + interval '10 years')`)
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 3, failed: 0 })
  const [left] = await rig.rows(`select
    (select count(*)::int from training.uploads where next_try_at > now()) as uploads,
    (select count(*)::int from musette.credentials where not_before > now()) as logins`)
  expect(left).toEqual({ uploads: 0, logins: 0 })
})
