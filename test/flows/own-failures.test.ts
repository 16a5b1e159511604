import { expect, it } from 'vitest'
import { openRig } from '../core/mirror/rig.ts'
import { findListed } from '../core/mirror/truth.ts'
import { openForEach } from '../kit/open-for.ts'

const rig = openForEach(() => openRig({ activities: 8 }))

const DUE = 'update training.activities set next_fetch_at = now() where next_fetch_at is not null'
const FAILED = `select path, fetch_error, next_fetch_at > now() as again
  from training.activities where detail_state = 'failed' order by path`

/** Makes some activities answer with a status; returns the expected rows. */
async function refuse(count: number, status: number, words: string) {
  const paths = (await findListed(rig.sandboxUrl, 'rider')).slice(0, count)
  await rig.fault(`^/oauth/activity/(${paths.join('|')})$`, { kind: 'status', status })
  return paths.sort().map((path) => ({ path, fetch_error: expect.stringContaining(words), again: true }))
}

it('neighbouring activities that answer 500 fail without affecting others', async () => {
  const failed = await refuse(5, 500, 'status 500')
  expect(await rig.sync()).toMatchObject({ fetched: 3, failed: 5 })
  expect(await rig.rows(FAILED)).toEqual(failed)
  // This holds even if nothing else is requested.
  await rig.rows(DUE)
  expect(await rig.sync()).toMatchObject({ fetched: 0, failed: 5 })
  await rig.heal()
  await rig.rows(DUE)
  expect(await rig.sync()).toMatchObject({ fetched: 5, failed: 0 })
})

it('an activity refused with 401 fails alone; others are mirrored and the login stays', async () => {
  const failed = await refuse(1, 401, 'the login is good')
  expect(await rig.sync()).toMatchObject({ fetched: 7, failed: 1 })
  expect(await rig.rows(FAILED)).toEqual(failed)
  const login = { needs_login: false, last_error: null }
  expect(await rig.rows('select needs_login, last_error from training.accounts')).toEqual([login])
  const { tokens } = await rig.steer('GET', 'counts')
  expect(tokens).toMatchObject({ refresh_token: 1 })
})

it('a pause set while the clock was fast ends', async () => {
  await rig.sync()
  await rig.rows(`update training.activities set detail_state = 'failed', summary_hash = null,
    next_fetch_at = now() + interval '10 years' where activity_id <= 3`)
  await rig.rows(`update musette.credentials set not_before = now() + interval '10 years'`)
  await rig.rows(`insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, next_try_at)
    values (1, repeat('a', 64), 'a.fit', 1, now(), now() + interval '10 years')`)
  expect(await rig.sync()).toMatchObject({ fetched: 3, failed: 0 })
  const [left] = await rig.rows(`select
    (select count(*)::int from training.uploads where next_try_at > now()) as uploads,
    (select count(*)::int from musette.credentials where not_before > now()) as logins`)
  expect(left).toEqual({ uploads: 0, logins: 0 })
})
