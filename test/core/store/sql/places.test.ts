import fc from 'fast-check'
import { expect, it } from 'vitest'
import { normalizePlace } from '../../../../src/core/normalize/activity-answer.ts'
import { makeSamples, UNKNOWN } from '../../../kit/samples.ts'
import { detailInput, recordDetail, replaceSamples } from '../detail.ts'
import { openScene, type Scene } from './scene.ts'

type Point = readonly [lat: number, lng: number]

const samplesAt = (points: readonly Point[]) =>
  makeSamples(points.length, (field, index) => {
    const [lat, lng] = points[index] ?? [UNKNOWN, UNKNOWN]
    return { lat, lng }[field as string] ?? UNKNOWN
  })

/** The place of each activity, computed from its samples in SQL; `+ 0` removes a negative zero, which JSON does not have. */
const COMPUTED = `
  select a.activity_id, s.* from training.activities a left join lateral (
    select (array_agg(lat order by t))[1] + 0 as start_lat, (array_agg(lng order by t))[1] + 0 as start_lng,
      min(lat) + 0 as south, max(lat) + 0 as north, min(lng) + 0 as west, max(lng) + 0 as east
    from training.samples where samples.activity_id = a.activity_id and abs(lat) <= 90 and abs(lng) <= 180 and (lat, lng) <> (0, 0)
  ) s on true order by 1`
const STORED =
  'select activity_id, start_lat, start_lng, south, north, west, east from training.activities order by 1'

async function record(scene: Scene, accountId: number, points: readonly Point[]): Promise<number> {
  const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z')
  const samples = samplesAt(points)
  const input = detailInput(activityId, new Date(), { samples, place: normalizePlace(samples) })
  await scene.store.transaction(async (tx) => {
    await recordDetail(tx, input)
    await replaceSamples(tx, activityId, samples)
  })
  return activityId
}

const degree = (most: number) =>
  fc.oneof(
    fc.constantFrom(UNKNOWN, 0, most, -most, most + 1),
    fc.double({ min: -most, max: most, noNaN: true }),
  )
const rides = fc.array(fc.array<Point>(fc.tuple(degree(90), degree(180)), { maxLength: 9 }), {
  minLength: 1,
  maxLength: 5,
})

it('the start and the box of a ride equal those computed in SQL', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  // One ride without positions, and one across the 180th meridian, with a box around the earth.
  const examples: Point[][] = [
    [
      [0, 0],
      [UNKNOWN, 5],
    ],
    [
      [0, 0],
      [-16.5, 179.9],
      [-16.4, -179.9],
    ],
  ]
  await fc.assert(
    fc.asyncProperty(rides, async (made) => {
      for (const points of made) await record(scene, accountId, points)
      expect(await scene.query(STORED)).toEqual(await scene.query(COMPUTED))
    }),
    { numRuns: 12, examples: [[examples]] },
  )
})

it('round accepts every numeric type, by search path or by name', async () => {
  const scene = await openScene()
  const rounded = await scene.store.transaction(async ({ client }) => {
    await client.query('set local search_path = training')
    const { rows } = await client.query(
      `select training.round(2.25::float8, 1)::text as named, round(2.25::float8, 1)::text as double, round('NaN'::float8, 1)::text as nan,
         round(1234.5678::real, 2)::text as real, round(2.25, 1)::text as numeric, pg_typeof(round(2.25, 1))::text as type,
         round(7, 1)::float8 as whole, round(2.5::float8) as none, training.round(null, 1) as nothing`,
    )
    return rows[0]
  })
  expect(rounded).toEqual({
    ...{ named: '2.3', double: '2.3', nan: 'NaN', real: '1234.57', numeric: '2.3', type: 'numeric' },
    ...{ whole: 7, none: 2, nothing: null },
  })
})
