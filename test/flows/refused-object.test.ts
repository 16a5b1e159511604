import { afterEach, beforeEach, expect, it } from 'vitest'
import { syncAccount } from '../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../core/mirror/rig.ts'
import { fetchTruth } from '../core/mirror/truth.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 4 })
})
afterEach(() => rig.close())

it('an activity refused with 401 fails alone: others are mirrored and the login stays', async () => {
  const [refused] = await fetchTruth(rig.sandboxUrl)
  const path = `^/oauth/activity/${refused?.path}$`
  await rig.steer('POST', 'faults', { path, kind: 'status', status: 401, times: 'always' })
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 3, failed: 1 })
  expect(await rig.rows('select needs_login, last_error from training.accounts')).toEqual([
    { needs_login: false, last_error: null },
  ])
  const rows = await rig.rows(
    `select path, fetch_error from training.activities where detail_state = 'failed'`,
  )
  expect(rows).toEqual([{ path: refused?.path, fetch_error: expect.stringContaining('the login is good') }])
  const { tokens } = await rig.steer('GET', 'counts')
  expect(tokens).toMatchObject({ refresh_token: 1 })
})
