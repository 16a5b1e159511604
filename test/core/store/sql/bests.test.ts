import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizePowerCurve } from '../../../../src/core/normalize/activity-answer.ts'
import { makeSamplesOf } from '../../../kit/samples.ts'
import { openScene, type Row, type Scene } from './scene.ts'

const HALF_A_DAY_S = 12 * 3_600

/** Types of activities and their kinds of sport. */
const TYPES = [
  ['Virtual Cycling', 'cycling'],
  ['Trail Run', 'running'],
  [null, 'other'],
] as const

type MadeRide = {
  account: number
  sport: string
  day: string
  watts: Record<number, number>
  absent: boolean
  activityId: number
}

const addCurve = (scene: Scene, activityId: number, watts: Readonly<Record<number, number>>) =>
  scene.query(
    `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities, unnest($2::int[], $3::real[]) as curve (duration_s, watts) where activity_id = $1`,
    [activityId, Object.keys(watts), Object.values(watts)],
  )

/** The bests of some rides, one ride at a time. */
function bestsOf(rides: readonly MadeRide[], oldest: string): Row[] {
  const bests = new Map<string, Row & { watts: number; day: string; activity_id: number }>()
  const present = rides.filter(({ absent }) => !absent).sort((a, b) => (a.day < b.day ? -1 : 1))
  for (const { account, sport, day, watts, activityId } of present) {
    const season = Number(day.slice(0, 4))
    const spans = [
      { span: 'all time', season: null },
      { span: 'season', season },
      ...(day >= oldest ? [{ span: 'last 90 days', season: null }] : []),
    ]
    for (const [duration, value] of Object.entries(watts)) {
      if (duration === '77') continue
      for (const span of spans) {
        const key = JSON.stringify([account, sport, span, duration])
        const best = {
          account_id: account,
          ...span,
          duration_s: Number(duration),
          watts: value,
          activity_id: activityId,
          day,
          sport,
        }
        if (!((bests.get(key)?.watts ?? -1) >= value)) bests.set(key, best)
      }
    }
  }
  return [...bests.values()]
}

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort()

describe('power_bests', () => {
  it('equals a search of every ride, for each account, sport, season and the last 90 days, the earliest of equals', async () => {
    const scene = await openScene()
    const accounts = [await scene.account('one'), await scene.account('two')]
    const watts = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined })
    const made = fc.record({
      account: fc.constantFrom(...accounts),
      type: fc.constantFrom(...TYPES),
      daysAgo: fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 85, max: 95 })),
      watts: fc.record({ 5: watts, 60: watts, 77: watts, 1200: watts }),
      absent: fc.boolean(),
    })
    const oneADay = fc.uniqueArray(made, { minLength: 1, maxLength: 25, selector: ({ daysAgo }) => daysAgo })
    await fc.assert(
      fc.asyncProperty(oneADay, async (wishes) => {
        const rides: MadeRide[] = []
        for (const { account, type, daysAgo, watts, absent } of wishes) {
          const day = new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)
          const activityId = await scene.ride(account, `${day}T00:00:00Z`, {
            absent_since: absent ? new Date() : null,
            activity_type: type[0],
          })
          const known = Object.entries(watts).filter(([, value]) => value !== undefined)
          const ride = {
            account,
            sport: type[1],
            day,
            watts: Object.fromEntries(known) as Record<number, number>,
            absent,
            activityId,
          }
          await addCurve(scene, activityId, ride.watts)
          rides.push(ride)
        }
        const [{ oldest } = {}] = await scene.sql`select (now() at time zone 'UTC')::date - 89 as oldest`
        const names = 'account_id, span, season, duration_s, watts, activity_id, day, sport'
        const bests = await scene.query(`select ${names} from training.power_bests`)
        expect(sorted(bests)).toEqual(sorted(bestsOf(rides, String(oldest))))
        await scene.sql`truncate training.activities cascade`
      }),
      { numRuns: 60 },
    )
  })

  it('has the standard durations of a curve, and not the length of a single ride', async () => {
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

  it('follows a ride to another year or sport, and a start that becomes known', async () => {
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
})
