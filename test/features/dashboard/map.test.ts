import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deriveContent } from '../../../src/core/normalize/activity-answer.ts'
import { replaceDerived } from '../../../src/core/store/samples/content.ts'
import { makeRoute } from '../../../src/features/dashboard/pages/activity/route.ts'
import { findMap, findNear } from '../../../src/features/dashboard/pages/map/queries.ts'
import {
  decodeTrack,
  EARTH_M,
  followLine,
  NEAR_UNITS,
  type Place,
  project,
  TRACK_UNITS,
} from '../../../src/features/dashboard/shared/world-places.ts'
import { openScene, type Scene } from '../../core/store/sql/scene.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSamples, UNKNOWN } from '../../kit/samples.ts'

const SECONDS = 4_000
type Ride = (part: number) => readonly [lat: number, lng: number]

const wrap = (lng: number) => (lng > 180 ? lng - 360 : lng)

/** Rides around Zürich and Sydney, over the date line, on the spot, at the pole and without a track: the position after a share of the ride. */
const RIDES: Readonly<Record<string, Ride>> = {
  loop: (part) => [47.37 + 0.1 * Math.sin(2 * Math.PI * part), 8.54 + 0.2 * Math.cos(4 * Math.PI * part)],
  south: (part) => [-33.87 + 0.3 * part, 151.2 + 0.05 * Math.sin(20 * part)],
  'date line': (part) => [-17 + part, 179.9 - part / 10],
  'over the date line': (part) => [-16.8 - part / 10, wrap(179.9 + 0.2 * part)],
  'on the spot': () => [47, 8],
  pole: () => [90, 0],
  'not made yet': () => [47, 8],
}

const app = { config: readConfig() }
let scene: Scene
let [account, other] = [0, 0]
const ids = new Map<string, number>()

/** Writes the positions of a ride as the mirror does, except the samples. */
async function write(name: string, of: Ride, id = ids.get(name)): Promise<void> {
  const samples = makeSamples(SECONDS + 1, () => UNKNOWN)
  for (let n = 0; n <= SECONDS; n++)
    [samples.columns.lat[n], samples.columns.lng[n]] = of(n / SECONDS) as [number, number]
  const { main, run, place, ...derived } = deriveContent(samples, { ftp: null, durationS: null })
  const { south, north, west, east, startLat } = place
  const columns = { name, south, north, west, east, start_lat: startLat, activity_type: 'Running' }
  const activityId =
    id ?? (await scene.ride(name === 'south' ? other : account, '2025-06-01T08:00:00Z', columns))
  ids.set(name, activityId)
  if (name !== 'not made yet')
    await scene.store.transaction((tx) => replaceDerived(tx, [{ activityId, ...derived }], [activityId]))
}

const tracks = async (of?: number) =>
  new Map(
    (await findMap({ ...app, ...scene }, { account: of }))?.tracks.map(({ name, track }) => [
      String(name),
      followLine(decodeTrack(track, TRACK_UNITS)),
    ]),
  )

beforeAll(async () => {
  scene = await openScene((close) => afterAll(close))
  ;[account, other] = [await scene.account(), await scene.account('other')]
  for (const [name, of] of Object.entries(RIDES)) await write(name, of)
})

describe('the tracks of the map', () => {
  it('are near every sample with at most 36 points, and change with the samples', async () => {
    const found = new Map([...(await tracks()), ...(await tracks(other))])
    expect([...found.keys()].sort()).toEqual([
      'date line',
      'loop',
      'on the spot',
      'over the date line',
      'pole',
      'south',
    ])
    for (const [name, track] of found) {
      const of = RIDES[name] as Ride
      expect(track.length).toBeLessThanOrEqual(36)
      const places = followLine(Array.from({ length: 101 }, (_, n) => project(...of(n / 100))))
      const furthest = Math.max(...places.map((place) => distance(place, track))) * EARTH_M
      // The ride is 70 km long.
      expect([name, furthest < 600]).toEqual([name, true])
      expect(distance(track[0] ?? { x: 0, y: 0 }, places.slice(0, 1)) * EARTH_M).toBeLessThan(80)
    }
    await write('on the spot', (part) => [47, 8 + part / 10])
    expect((await tracks()).get('on the spot')).toHaveLength(36)
    await scene.sql`update training.activities set absent_since = now() where activity_id = ${ids.get('pole')}`
    expect([...(await tracks()).keys()].sort()).toEqual([
      'date line',
      'loop',
      'on the spot',
      'over the date line',
    ])
    expect(await findMap({ ...app, ...scene }, { account: 999 })).toBeUndefined()
  })

  it('are counted as missing if a ride has positions but no track yet', async () => {
    expect(await findMap({ ...app, ...scene }, { account })).toMatchObject({ left: 1 })
    expect(await findMap({ ...app, ...scene }, { account: other })).toMatchObject({ left: 0 })
  })

  it('are finer in a part of the map, even if they leave it and come back', async () => {
    const box = { west: 8_700_000, south: 47_360_000, east: 8_750_000, north: 47_380_000 }
    const { pieces } = await findNear(scene, { account, ...box })
    const lines = pieces.map(({ id, track }) => ({ id, places: decodeTrack(track, NEAR_UNITS) }))
    expect([...new Set(lines.map(({ id }) => id))]).toEqual([ids.get('loop')])
    const places = Array.from({ length: 2_001 }, (_, n) => (RIDES.loop as Ride)(n / 2_000)).filter(
      ([lat, lng]) => lng > 8.7 && lat > 47.36 && lng < 8.75 && lat < 47.38,
    )
    const far = ([lat, lng]: readonly [number, number]) =>
      Math.min(...lines.map((line) => distance(project(lat, lng), line.places))) * EARTH_M
    expect([lines.length, places.length > 50]).toEqual([3, true])
    // The box is 2.2 km high, and a curving ride has a point every 50 m; Web Mercator stretches metres by 1.5 here.
    expect(Math.max(...places.map(far))).toBeLessThan(1.5 * (2_200 / 300 + 3))
    expect((await findNear(scene, { account: other, ...box })).pieces).toEqual([])
    expect((await findNear(scene, box)).pieces).toEqual([])
  })
})

describe('a track over the 180° meridian', () => {
  it.each([
    ['from the west', 179_990_000, 180_010_000],
    ['from the east', -180_010_000, -179_990_000],
  ])('is in a part of the map that reaches over it %s', async (_, west, east) => {
    const { pieces } = await findNear(scene, { account, west, east, south: -17_000_000, north: -16_000_000 })
    expect(pieces.map(({ id }) => id)).toEqual([ids.get('over the date line')])
    const places = followLine(decodeTrack(pieces[0]?.track ?? '', NEAR_UNITS), {
      x: west / 360_000_000 + 0.5,
      y: 0,
    })
    const degrees = places.map(({ x }) => (x - 0.5) * 360)
    expect(Math.min(...degrees)).toBeCloseTo(west / 1_000_000, 2)
    expect(Math.max(...degrees)).toBeCloseTo(east / 1_000_000, 2)
  })

  it('is one short line on the page of the activity', () => {
    const lng = Array.from({ length: 41 }, (_, index) => wrap(179.98 + index / 1_000))
    const route = makeRoute({ lat: lng.map(() => -16.8), lng }) ?? []
    const places = route.map(({ x }) => (x - 0.5) * 360)
    expect(places).toHaveLength(41)
    expect(Math.max(...places) - Math.min(...places)).toBeCloseTo(0.04)
  })
})

/** Returns the distance of a place from a line. */
function distance({ x, y }: Place, line: readonly Place[]): number {
  return Math.min(
    ...line.map((from, index) => {
      const to = line[index + 1] ?? from
      const [dx, dy] = [to.x - from.x, to.y - from.y]
      const along = ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1)
      const part = Math.min(1, Math.max(0, along))
      return Math.hypot(x - from.x - part * dx, y - from.y - part * dy)
    }),
  )
}
