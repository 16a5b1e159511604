import { describe, expect, it } from 'vitest'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openScene } from '../../core/mirror/training-scene.ts'
import { openForAll } from '../../kit/open-for.ts'

/** The requests of a pass when nothing has changed. */
const QUIET = {
  ...{ 'GET /oauth/activity': 1, 'GET /oauth/training_info': 1 },
  ...{ 'GET /oauth/workout': 1, 'GET /oauth/workouts': 1 },
}

describe('sync', () => {
  const scene = openForAll(openScene)
  const sync = () => syncAccount(scene.app, { name: 'default', training: true })
  const requested = async () => {
    await scene.requests()
    expect(await sync()).toMatchObject({ failed: 0 })
    return await scene.requests()
  }

  it('reports the counts of the activities even if the rest fails, and counts the failures', async () => {
    await scene.fault('^/oauth/training_info$', { kind: 'html' })
    await scene.fault('^/oauth/workouts$', { kind: 'html' })
    expect(await sync()).toMatchObject({ listed: 2, fetched: 2, failed: 2 })
    const failures = scene.log.lines.filter((line) => line.level === 'error').map((line) => line.msg)
    expect(failures).toEqual(['training info failed', 'workouts failed'])
    await scene.heal()
  })

  it('fetches training info and workouts after the activities, and retries a failed list at once', async () => {
    expect(await requested()).toMatchObject({ 'GET /oauth/workouts': 1 })
    const counts = await scene.rows(
      `select (select count(*) from training.training_info)::int as infos,
              (select count(*) from training.workout_files)::int as files,
              (select count(*) from training.workouts)::int as workouts,
              (select count(distinct path) from training.workout_sets)::int as definitions`,
    )
    expect(counts).toEqual([{ infos: 1, files: 2, workouts: 7, definitions: 7 }])
    const [first] = await scene.rows('select resource from training.sync_runs order by run_id')
    expect(first?.resource).toBe('activities')
  })

  it('requests only the lists when repeated, and measures older activities without fetching them', async () => {
    const measures = () => scene.rows('select * from training.ride_measures order by activity_id')
    const before = await measures()
    expect(before).toHaveLength(2)
    await scene.rows('delete from training.ride_measures returning 1')
    expect(await requested()).toEqual(QUIET)
    expect(await measures()).toEqual(before)
    expect(await requested()).toEqual(QUIET)
  })
})
