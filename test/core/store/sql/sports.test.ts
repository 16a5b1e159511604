import { expect, it } from 'vitest'
import { openScene } from './scene.ts'

it.each([
  [
    'cycling',
    'Cycling, Virtual Cycling, Mountain Biking, Gravel Ride, cyclocross, E-Bike Ride, Indoor Cycling, MTB',
  ],
  ['running', 'Running, Trail Run, VirtualRun, Treadmill, jogging'],
  ['swimming', 'Swimming, Open Water Swim'],
  ['other', 'Multisport, Walking, Rowing, Motorcycling, Bikram Yoga, Strength Training, '],
])(
  'an activity is of the sport %s by the words of its type, also when that changes',
  async (sport, types) => {
    const scene = await openScene()
    const accountId = await scene.account()
    const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', { activity_type: 'Cycling' })
    for (const type of [...types.split(', '), ...(sport === 'other' ? [null] : [])]) {
      await scene.sql`update training.activities set activity_type = ${type}`
      const [row] =
        await scene.sql`select sport, updated_at from training.activities where activity_id = ${activityId}`
      expect([type, row?.sport]).toEqual([type, sport])
    }
  },
)

it('the maximum heart rate that a rider sets counts for the zones of all rides', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z')
  await scene.sql`insert into training.activity_intensity (activity_id, hr_peak, hr_at_least_s, account_id, day, month)
     select activity_id, 150, array_fill(60, array[150]), account_id, started_at_local::date, date_trunc('month', started_at_local)
     from training.activities where activity_id = ${activityId}`
  const zones = async (view: 'ride_intensity' | 'zones_by_week') => {
    const [row] = await scene.view(view)
    return [row?.hr_z3_s, row?.hr_z5_s, row?.sport]
  }
  expect(await zones('ride_intensity')).toEqual([0, 60, 'cycling'])
  await scene.sql`update training.accounts set max_hr = 200`
  expect(await zones('ride_intensity')).toEqual([60, 0, 'cycling'])
  expect(await zones('zones_by_week')).toEqual([60, 0, 'cycling'])
})
