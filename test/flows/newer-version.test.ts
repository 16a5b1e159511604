import { afterEach, beforeEach, expect, it } from 'vitest'
import { syncAccount } from '../../src/app/sync-account.ts'
import { openDaemon } from '../../src/daemon/daemon.ts'
import { completeMeasures } from '../../src/mirror/rebuild-activities.ts'
import { eventually } from '../kit/eventually.ts'
import { openRig, type Rig } from '../mirror/rig.ts'
import { expectMirrored } from '../mirror/truth.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 5, env: { MUSETTE_HTTP: 'off' } })
  await syncAccount(rig.app, { name: 'default' })
})
afterEach(() => rig.close())

const start = () => {
  const { signal } = new AbortController()
  return openDaemon(rig.app.config, rig.log.log, {
    roles: ['scheduler', 'worker'],
    signal,
    schemaEveryMs: 50,
  })
}

it('a daemon stops with a sentence when a newer musette has migrated its database', async () => {
  const daemon = await start()
  try {
    await rig.rows(`insert into musette.migrations (hash, created_at) values ('newer', 9999999999999)`)
    await expect(daemon.failed).resolves.toMatchObject({
      code: 'database_newer',
      message: expect.stringContaining('install that version'),
    })
  } finally {
    await daemon.close()
  }
})

it('a daemon adds derived values missing from an older version, without a request', async () => {
  await rig.rows('update training.power_curves set season = null where activity_id = 1')
  await rig.rows('update training.power_curves set season = null, account_id = null where activity_id = 2')
  await rig.rows('delete from training.activity_intensity where activity_id = 3')
  await rig.rows('update training.activity_intensity set account_id = null where activity_id = 4')
  await rig.rows(
    'update training.power_curves set started_at_local = null, source = null where activity_id = 5',
  )
  await rig.rows('delete from training.ride_measures')
  const incomplete = () =>
    rig.rows(`select activity_id from training.activities a where detail_state <> 'mirrored'
      or not exists (select from training.activity_intensity i where i.activity_id = a.activity_id and account_id is not null)
      or not exists (select from training.ride_measures m where m.activity_id = a.activity_id)
      or exists (select from training.power_curves c where c.activity_id = a.activity_id and
        (season is null or account_id is null or started_at_local is null or source is null))`)
  expect(await incomplete()).toHaveLength(5)
  await rig.rows('delete from training.raw_documents where activity_id = 2')
  await rig.steer('POST', 'counts/reset')
  const daemon = await start()
  try {
    await eventually(async () => (await incomplete()).length === 0, { what: 'the rows that were missing' })
    await expectMirrored(rig)
    const { requests } = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
    expect(requests['GET /oauth/activity/:path'] ?? 0).toBe(0)
  } finally {
    await daemon.close()
  }
})

it('an upgraded mirror derives values from its samples, without the service and without stored answers', async () => {
  const measures = async () => [
    ...(await rig.rows('select * from training.ride_measures order by activity_id')),
    ...(await rig.rows('select * from training.power_curves order by activity_id, duration_s')),
    ...(await rig.rows('select * from training.activity_intensity order by activity_id')),
    ...(await rig.rows(`select activity_id, elapsed_s, recorded_from, stray_samples, updated_at, (select max(change_id) from training.changes)
      from training.activities order by activity_id`)),
  ]
  const before = await measures()
  expect(before.length).toBeGreaterThan(5)
  await rig.rows('delete from training.raw_documents')
  await rig.rows('delete from training.ride_measures where activity_id < 3')
  await rig.rows(
    'update training.activities set stray_samples = null, recorded_from = null where activity_id > 2',
  )
  await rig.rows('update training.power_curves set watts = watts + 1 where activity_id = 4')
  await rig.rows('update training.activity_intensity set hr_peak = 249 where activity_id = 5')
  await rig.steer('POST', 'counts/reset')
  expect(await completeMeasures(rig.app)).toBe(5)
  expect(await measures()).toEqual(before)
  expect(await completeMeasures(rig.app)).toBe(0)
  const { requests } = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
  expect(requests).toEqual({})
})
