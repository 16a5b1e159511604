import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openScene, type Scene } from '../../core/mirror/training-scene.ts'

/** What a pass asks for when nothing has changed. */
const QUIET = {
  ...{ 'GET /oauth/activity': 1, 'GET /oauth/training_info': 1 },
  ...{ 'GET /oauth/workout': 1, 'GET /oauth/workouts': 1 },
}

describe('sync', () => {
  let scene: Scene
  const sync = (full = false) => syncAccount(scene.app, { name: 'default', training: true, full })
  beforeEach(async () => {
    scene = await openScene()
  })
  afterEach(() => scene.close())

  it('fetches training info, the workout of the day and the workouts after the activities', async () => {
    expect(await sync()).toMatchObject({ listed: 2, fetched: 2, failed: 0 })
    const counts = await scene.rows(
      `select (select count(*) from training.training_info)::int as infos,
              (select count(*) from training.workout_files)::int as files,
              (select count(*) from training.workouts)::int as workouts,
              (select count(distinct path) from training.workout_sets)::int as definitions`,
    )
    expect(counts).toEqual([{ infos: 1, files: 2, workouts: 7, definitions: 7 }])
    const runs = await scene.rows('select resource, outcome from training.sync_runs order by run_id')
    expect(runs[0]?.resource).toBe('activities')
    expect(new Set(runs.map((run) => run.outcome))).toEqual(new Set(['done']))
  })

  it('requests only the lists when repeated, and fetches a new workout', async () => {
    await sync()
    await scene.requests()
    await sync()
    expect(await scene.requests()).toEqual(QUIET)
    await scene.rows(`delete from training.workouts where path = 'own0tempo0000001' returning 1`)
    expect(await sync()).toMatchObject({ failed: 0 })
    expect(await scene.rows(`select 1 from training.workouts where path = 'own0tempo0000001'`)).toHaveLength(
      1,
    )
  })

  it('measures activities of an earlier version without fetching them', async () => {
    await sync()
    const measures = () => scene.rows('select * from training.ride_measures order by activity_id')
    const before = await measures()
    expect(before).toHaveLength(2)
    await scene.rows('delete from training.ride_measures returning 1')
    await scene.requests()
    expect(await sync()).toMatchObject({ fetched: 0, failed: 0 })
    expect(await measures()).toEqual(before)
    expect(await scene.requests()).toEqual(QUIET)
  })

  it('reports the counts of the activities when the rest fails, and counts the failures', async () => {
    await scene.fault('^/oauth/training_info$', { kind: 'html' })
    await scene.fault('^/oauth/workouts$', { kind: 'html' })
    expect(await sync()).toMatchObject({ listed: 2, fetched: 2, failed: 2 })
    const failures = scene.log.lines.filter((line) => line.level === 'error').map((line) => line.msg)
    expect(failures).toEqual(['training info failed', 'workouts failed'])
    await scene.heal()
    expect(await sync()).toMatchObject({ failed: 0 })
  })

  it('fetches a workout that always fails once a day, and succeeds in between', async () => {
    await scene.fault('^/oauth/workout/own0tempo0000001$', { kind: 'status', status: 500 })
    expect(await sync()).toMatchObject({ failed: 1 })
    await scene.requests()
    expect(await sync()).toMatchObject({ failed: 0 })
    expect(await scene.requests()).toEqual(QUIET)
    await scene.rows(`update training.workout_definitions set failed_at = failed_at - interval '21 hours'`)
    expect(await sync()).toMatchObject({ failed: 1 })
  })

  it('requests a failed workout list again at once', async () => {
    await scene.fault('^/oauth/workouts$', { kind: 'html' })
    expect(await sync()).toMatchObject({ failed: 1 })
    await scene.heal()
    await scene.requests()
    expect(await sync()).toMatchObject({ failed: 0 })
    expect(await scene.requests()).toMatchObject({ 'GET /oauth/workouts': 1 })
  })

  it('waits as long as the service requires', async () => {
    await scene.fault('^/oauth/training_info$', { kind: 'status', status: 429, retry_after: 1, times: 1 })
    expect(await sync()).toMatchObject({ failed: 0 })
    expect(await scene.rows('select 1 as one from training.training_info')).toHaveLength(1)
  })

  it('stops at the signal', async () => {
    await sync()
    const stopped = AbortSignal.abort()
    const input = { name: 'default', training: true, full: true, signal: stopped }
    await expect(syncAccount(scene.app, input)).rejects.toThrow()
  })
})
