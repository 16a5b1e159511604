import { expect, it } from 'vitest'
import { normalizePowerCurve } from '../../../../src/core/normalize/activity-answer.ts'
import { makeSamplesOf } from '../../../kit/samples.ts'
import { openScene, type Scene } from './scene.ts'

const HALF_A_DAY_S = 12 * 3_600

const addCurve = (scene: Scene, activityId: number, watts: Readonly<Record<number, number>>) =>
  scene.query(
    `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities, unnest($2::int[], $3::real[]) as curve (duration_s, watts) where activity_id = $1`,
    [activityId, Object.keys(watts), Object.values(watts)],
  )

it('power_bests has the standard durations of a curve, and not the length of a single ride', async () => {
  const scene = await openScene()
  const samples = makeSamplesOf(Array.from({ length: HALF_A_DAY_S + 77 }, () => ({ power: 200 })))
  const curve = normalizePowerCurve(samples)?.points ?? []
  const activityId = await scene.ride(await scene.account(), '2024-05-01T06:00:00Z')
  await addCurve(
    scene,
    activityId,
    Object.fromEntries(curve.map(({ durationS, watts }) => [durationS, watts])),
  )
  const bests = await scene.view('power_bests', `where span = 'all time' order by duration_s`)
  expect(curve.at(-1)?.durationS).toBe(HALF_A_DAY_S + 77)
  expect(bests.map(({ duration_s }) => duration_s)).toEqual(
    curve.slice(0, -1).map(({ durationS }) => durationS),
  )
})

it('power_bests follows a ride to another year or sport, and a start that becomes known', async () => {
  const scene = await openScene()
  const activityId = await scene.ride(await scene.account(), '2024-12-31T23:30:00Z')
  await addCurve(scene, activityId, { 5: 500 })
  const seasons = async () =>
    (await scene.view('power_bests', `where span = 'season'`)).map(({ season, day }) => [season, day])
  expect(await seasons()).toEqual([[2024, '2024-12-31']])
  await scene.sql`update training.activities set started_at_local = started_at_local + interval '1 hour'`
  expect(await seasons()).toEqual([[2025, '2025-01-01']])
  await scene.sql`update training.activities set activity_type = 'Running'`
  expect(await scene.view('power_bests', `where span = 'season'`)).toMatchObject([{ sport: 'running' }])
  await scene.sql`update training.activities set started_at_local = null`
  expect(await seasons()).toEqual([])
  await scene.sql`update training.activities set started_at_local = '2019-05-01 08:00'`
  expect(await seasons()).toEqual([[2019, '2019-05-01']])
})
