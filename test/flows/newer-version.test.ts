import { isDeepStrictEqual } from 'node:util'
import { beforeEach, expect, it } from 'vitest'
import { openDaemon } from '../../src/program/daemon/daemon.ts'
import { openDatabaseWatch } from '../../src/program/daemon/database-watch.ts'
import { openRig } from '../core/mirror/rig.ts'
import { expectMirrored } from '../core/mirror/truth.ts'
import { eventually } from '../kit/eventually.ts'
import { openForEach } from '../kit/open-for.ts'

const rig = openForEach(() => openRig({ activities: LEFT_OUT.length, env: { MUSETTE_HTTP: 'off' } }))
beforeEach(async () => void (await rig.sync()))

const start = () => {
  const { signal } = new AbortController()
  return openDaemon(rig.app.config, rig.log.log, {
    roles: ['scheduler', 'worker'],
    signal,
    watchEveryMs: 50,
  })
}

it('a daemon stops with an error after a newer musette migrates its database', async () => {
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

it('a daemon with Redis reopens with another queue when its database gets a new line', async () => {
  const config = { ...rig.app.config, redisUrl: 'redis://127.0.0.1:9' }
  const watch = await openDatabaseWatch({ ...rig.app, config }, 50)
  try {
    await rig.rows(`select musette.begin_line('server')`)
    await expect(watch.changed).resolves.toMatchObject({ code: 'database_new_line' })
  } finally {
    await watch.close()
  }
})

/** Derived values that an older daemon did not write, each for another activity. */
const LEFT_OUT = [
  'update training.activities set stray_samples = null',
  'delete from training.ride_measures',
  'delete from training.activity_intensity',
  'update training.activity_intensity set account_id = null',
  'update training.activity_intensity set sample_spacing_s = null',
  'update training.power_curves set account_id = null',
  'update training.power_curves set season = null',
  'update training.power_curves set started_at_local = null, source = null',
  'update training.power_curves set sport = null',
]

const findDerived = async () => ({
  measures: await rig.rows('select * from training.ride_measures order by activity_id'),
  curves: await rig.rows('select * from training.power_curves order by activity_id, duration_s'),
  intensity: await rig.rows('select * from training.activity_intensity order by activity_id'),
  runs: await rig.rows(
    'select elapsed_s, recorded_from, stray_samples from training.activities order by activity_id',
  ),
})

it('a daemon adds derived values missing from an older version, without a request', async () => {
  const before = await findDerived()
  const rows = await rig.rows('select activity_id as id from training.activities order by 1')
  for (const [index, statement] of LEFT_OUT.entries()) {
    const broken = `${statement} where activity_id = $1 returning 1`
    expect(await rig.rows(broken, [rows[index]?.id]), statement).not.toEqual([])
  }
  await rig.rows('delete from training.raw_documents')
  await rig.requests()
  const daemon = await start()
  try {
    const isWhole = async () => isDeepStrictEqual(await findDerived(), before)
    await eventually(isWhole, { what: 'the values that were missing' })
    await expectMirrored(rig)
    expect((await rig.requests())['GET /oauth/activity/:path'] ?? 0).toBe(0)
  } finally {
    await daemon.close()
  }
})
