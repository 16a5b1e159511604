import { expect, it } from 'vitest'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { openScene } from './scene.ts'

it.each<[sport: string, types: readonly (string | null)[]]>([
  [
    'cycling',
    [
      'Cycling',
      'Virtual Cycling',
      'Mountain Biking',
      'Gravel Ride',
      'cyclocross',
      'E-Bike Ride',
      'Indoor Cycling',
      'MTB',
    ],
  ],
  ['running', ['Running', 'Trail Run', 'VirtualRun', 'Treadmill', 'jogging']],
  ['swimming', ['Swimming', 'Open Water Swim']],
  [
    'other',
    ['Multisport', 'Walking', 'Rowing', 'Motorcycling', 'Bikram Yoga', 'Strength Training', '', null],
  ],
])(
  'an activity is of the sport %s by the words of its type, also when that changes',
  async (sport, types) => {
    const scene = await openScene()
    const accountId = await scene.account()
    const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', { activity_type: 'Cycling' })
    for (const type of types) {
      await scene.query('update training.activities set activity_type = $1', [type])
      const [row] = await scene.query(
        'select sport, updated_at from training.activities where activity_id = $1',
        [activityId],
      )
      expect([type, row?.sport]).toEqual([type, sport])
    }
  },
)

it('a run is not a best of the bicycle, on the page too, where all sports can be selected', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const day = new Date().toISOString().slice(0, 10)
  for (const [type, watts, xss] of [
    ['Cycling', 250, 40],
    ['Running', 318, 25],
    ['Virtual Cycling', 240, 10],
  ] as const) {
    const activityId = await scene.ride(accountId, `${day}T00:00:00Z`, {
      activity_type: type,
      xss,
      breakthrough: 1,
    })
    await scene.query(
      `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
       select activity_id, 60, $2, account_id, date_part('year', started_at_local), started_at_local, sport
       from training.activities where activity_id = $1`,
      [activityId, watts],
    )
  }
  const best = async (sport?: 'cycling' | 'running' | 'swimming' | 'all') => {
    const page = await findFitness({ store: scene.store }, { accountId, sport })
    return [
      page?.best[0]?.all_time?.watts,
      page?.best[0]?.last_90_days?.watts,
      page?.weeks.xss.at(-1),
      page?.weeks.activities.at(-1),
    ]
  }
  expect(await best()).toEqual([250, 250, 50, 2])
  expect(await best('running')).toEqual([318, 318, 25, 1])
  expect(await best('all')).toEqual([318, 318, 75, 3])
  expect(await best('swimming')).toEqual([undefined, undefined, 0, 0])
  expect(await scene.view('records', 'order by sport')).toMatchObject([
    { sport: 'cycling' },
    { sport: 'cycling' },
    { sport: 'running' },
  ])
  const weeks = await scene.view('weekly_summary', `where sport = 'cycling'`)
  expect(weeks.map(({ xss }) => xss).sort()).toEqual([10, 40])
})

it('the maximum heart rate that a rider sets counts for the zones of all rides', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z')
  await scene.query(
    `insert into training.activity_intensity (activity_id, hr_peak, hr_at_least_s, account_id, day, month)
     select activity_id, 150, array_fill(60, array[150]), account_id, started_at_local::date, date_trunc('month', started_at_local)
     from training.activities where activity_id = $1`,
    [activityId],
  )
  const zones = async (view: 'ride_intensity' | 'zones_by_week') => {
    const [row] = await scene.view(view)
    return [row?.hr_z3_s, row?.hr_z5_s, row?.sport]
  }
  expect(await zones('ride_intensity')).toEqual([0, 60, 'cycling'])
  await scene.query('update training.accounts set max_hr = 200')
  expect(await zones('ride_intensity')).toEqual([60, 0, 'cycling'])
  expect(await zones('zones_by_week')).toEqual([60, 0, 'cycling'])
})
