import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateRoutes } from '../../../src/core/mirror/routes.ts'
import { deriveContent } from '../../../src/core/normalize/activity-answer.ts'
import { replaceDerived } from '../../../src/core/store/samples/content.ts'
import type { Samples } from '../../../src/core/store/samples/encode-samples.ts'
import { makeSamples, UNKNOWN } from '../../kit/samples.ts'
import { whole } from '../../kit/sampling.ts'
import { quiet } from '../store/open.ts'
import { openScene, type Ride, type Scene } from '../store/sql/scene.ts'

/** A place in degrees, or in metres from home. */
type Place = readonly [north: number, east: number]

const M_A_DEGREE = 111_320
const HOME = 47.4

/** Makes GPS errors, m, the same for each seed; each is close to the one before, because GPS errors drift. */
function makeNoise(metres: number, seed: number) {
  let [state, error] = [seed * 7_919, 0]
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return () => {
    const bell = random() + random() + random() + random() - 2
    error = 0.95 * error + Math.sqrt(3 * (1 - 0.95 ** 2)) * metres * bell
    return error
  }
}

/** Makes the samples of places in degrees, one a second, with GPS errors. */
function record(places: readonly Place[], { noise = 5, seed = 1 } = {}): Samples {
  const [north, east] = [makeNoise(noise, seed), makeNoise(noise, seed + 99)]
  const samples = makeSamples(places.length, () => UNKNOWN)
  for (const [index, [lat, lng]] of places.entries()) {
    samples.columns.lat[index] = lat + north() / M_A_DEGREE
    samples.columns.lng[index] = lng + east() / M_A_DEGREE / Math.cos((lat * Math.PI) / 180)
  }
  return samples
}

/** Records a ride along places in metres at about 8 m/s; rests for ten minutes at a place that comes twice in a row. */
function ride(way: readonly Place[], more: { noise?: number; seed?: number } = {}): Samples {
  const places = way.flatMap(([y, x], index) => {
    const [fromY, fromX] = way[index - 1] ?? [y, x]
    const length = Math.hypot(x - fromX, y - fromY)
    const seconds = length === 0 && index > 0 ? 600 : Math.ceil(length / (7 + ((more.seed ?? 1) % 3)))
    return Array.from({ length: seconds }, (_, n): Place => {
      const share = (n + 1) / seconds
      return [HOME + (fromY + (y - fromY) * share) / M_A_DEGREE, 8 + (fromX + (x - fromX) * share) / 75_352]
    })
  })
  return record(places, more)
}

const line = (...places: Place[]): Place[] => places

/** Makes a winding loop of about this many kilometres; `corner` moves its start by a share of a lap. */
function loop(km: number, { corner = 0, laps = 1 } = {}): Place[] {
  return Array.from({ length: 48 * laps + 1 }, (_, index): Place => {
    const turn = 2 * Math.PI * (index / 48 + corner)
    return [139 * km * Math.sin(turn), 139 * km * (Math.cos(turn) + Math.sin(3 * turn) / 4)]
  })
}

/** Makes a loop with detours at some of its 48 corners. */
function detours(...corners: number[]): Place[] {
  return loop(6).map(([y, x], corner): Place => (corners.includes(corner) ? [y * 1.18, x * 1.18] : [y, x]))
}

/** Writes a ride like the mirror does, except for its samples: as a new activity, or as a new version of an existing one. */
async function write(
  scene: Scene,
  accountId: number,
  samples: Samples,
  { id, ...more }: Ride & { id?: number | undefined } = {},
): Promise<number> {
  const { main, place, run, ...derived } = deriveContent(samples, { ftp: null, durationS: null })
  const { south, north, west, east } = place
  const activityId = id ?? (await scene.ride(accountId, '2025-05-01T08:00:00Z', more))
  await scene.sql`update training.activities set south = ${south}, north = ${north}, west = ${west}, east = ${east}
    where activity_id = ${activityId}`
  await scene.store.transaction((tx) => replaceDerived(tx, [{ activityId, ...derived }], [activityId]))
  return activityId
}

const rowsOf = (scene: Scene) =>
  scene.sql`select activity_id, route_id from training.ride_measures order by activity_id`

/** Returns the routes of activities as letters, in order of first appearance. */
async function routesOf(scene: Scene, ids: readonly number[]): Promise<string> {
  const routes = new Map((await rowsOf(scene)).map((row) => [row.activity_id, row.route_id]))
  const founders: unknown[] = [...new Set(ids.map((id) => routes.get(id)))].filter((route) => route)
  const letterOf = (route: unknown) => 'ABCDEFGH'[founders.indexOf(route)] ?? '-'
  return ids.map((id) => letterOf(routes.get(id))).join('')
}

/** Finds the missing routes, and returns how many were missing. */
async function update(scene: Scene): Promise<number> {
  const [row] = await scene.sql`select count(*)::int as n from musette.ride_tracks where route_id is null`
  // Two concurrent processes find each route once.
  await Promise.all([1, 2].map(() => updateRoutes({ store: scene.store, log: quiet })))
  return Number(row?.n)
}

describe('rides on the same roads in the same direction share a route', () => {
  const about = loop(20)
  const [A, B]: [Place, Place] = [
    [0, 0],
    [900, 6_000],
  ]
  const cafe: Place = [(about[24]?.[0] ?? 0) + 120, (about[24]?.[1] ?? 0) + 150]
  const out = line(A, [500, 3_000], [4_000, 4_000], [5_000, 9_000])
  let scene: Scene
  let accountId: number
  beforeAll(async () => {
    scene = await openScene((close) => afterAll(close))
    accountId = await scene.account()
  })

  it.each<[what: string, routes: string, ways: Place[][], noise?: number[]]>([
    ['with a GPS error of 0, 6 or 12 m', 'AAA', [about, about, about], [0, 6, 12]],
    ['but not in reverse', 'ABA', [about, about.toReversed(), about]],
    ['but not if one ends after three quarters', 'AB', [about, about.slice(0, 36)]],
    ['from whichever corner they start', 'AAA', [0, 0.3, 0.8].map((corner) => loop(20, { corner }))],
    [
      'even if one stops for a coffee',
      'AA',
      [about, [...about.slice(0, 25), cafe, cafe, ...about.slice(24)]],
    ],
    [
      'but not if only the way out of town is the same',
      'AB',
      [line(...out, [12_000, 9_000]), line(...out, [5_000, 16_000])],
    ],
    ['with equally many laps: 1, 3, 3 and 1', 'ABBA', [1, 3, 3, 1].map((laps) => loop(3, { laps }))],
    [
      'with equally many laps: 10, 11 and 10',
      'ABA',
      [10, 11, 10].map((laps) => loop(3, { laps, corner: laps / 7 })),
    ],
    [
      'with equally many laps there and back: 1, 4 and 4',
      'ABB',
      [1, 4, 4].map((laps) => line([-5_000, 0], ...loop(3, { laps }), [-5_000, 30])),
    ],
    ['but not at a distance of 150 m', 'AB', [0, 150].map((y) => line([y, 0], [y, 5_000]))],
    ['there and back, from either end', 'AA', [line(A, B, A), line(B, A, B)]],
    ['but not if shorter than 1 km', '--', [line(A, [0, 700]), line(A, [0, 700])]],
    [
      'with the closer of two different rides',
      'ABB',
      [detours(3, 4, 5, 15, 16, 17), detours(), detours(3, 4)],
      [2, 2, 2],
    ],
  ])('%s', async (_, routes, ways, noise = []) => {
    await scene.sql`delete from training.activities`
    const ids: number[] = []
    for (const [index, way] of ways.entries())
      ids.push(await write(scene, accountId, ride(way, { noise: noise[index] ?? 5, seed: index + 1 })))
    await update(scene)
    expect(await routesOf(scene, ids)).toBe(routes)
  })

  it('routes keep sports and accounts apart, and change only with a track', async () => {
    await scene.sql`delete from training.activities`
    const [samples, again] = [ride(about), ride(about, { seed: 2 })]
    const founder = await write(scene, accountId, samples)
    const member = await write(scene, accountId, again)
    const run = await write(scene, accountId, samples, { activity_type: 'Running' })
    const theirs = await write(scene, await scene.account('other'), samples)
    await update(scene)
    const before = await rowsOf(scene)
    expect(await routesOf(scene, [founder, member, run, theirs])).toBe('AABC')
    await write(scene, accountId, samples, { id: founder })
    await scene.sql`delete from training.ride_measures where activity_id = ${member}`
    await write(scene, accountId, again, { id: member })
    await scene.sql`update training.activities set absent_since = now() where activity_id = ${founder}`
    expect(await update(scene)).toBe(0)
    expect(await rowsOf(scene)).toEqual(before)
    const routes = await scene.view('routes', `where route_id = ${founder}`)
    expect(routes).toMatchObject([{ rides: 1, sport: 'cycling', account: 'default' }])
    const setType = async (type: string) => {
      await scene.sql`update training.activities set activity_type = ${type} where activity_id = ${founder}`
      await update(scene)
      return routesOf(scene, [founder, member, run])
    }
    expect(await setType('Running')).toBe('ABA')
    expect(await setType('Cycling')).toBe('AAB')
    expect(await rowsOf(scene)).toEqual(before)
    await scene.sql`delete from training.activities where activity_id = ${founder}`
    await update(scene)
    expect(await routesOf(scene, [member, run])).toBe('AB')
  })

  it('routes do not depend on the order of writes, and a new ride changes no route', async () => {
    // Similar rides differ in one detour of four, so that a ride may be between others that are not similar.
    const ways = Array.from({ length: 16 }, (_, mask) => {
      const corners = [3, 4, 5, 15, 16, 17, 27, 28, 39, 40, 41]
      return ride(detours(...corners.filter((corner) => mask & (1 << Math.floor(corner / 12)))), { noise: 2 })
    })
    const step = fc.record({
      action: fc.constantFrom('write', 'write', 'write', 'update', 'delete'),
      at: fc.nat({ max: 9 }),
      way: fc.constantFrom(...ways),
    })
    const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      await scene.sql`delete from training.activities`
      const ids: number[] = []
      for (let n = 0; n < 10; n++) ids.push(await scene.ride(accountId, '2025-05-01T08:00:00Z'))
      for (const { action, at, way } of steps) {
        if (action === 'update') await update(scene)
        else if (action === 'delete')
          await scene.sql`delete from training.activities where activity_id = ${ids[at]}`
        else if ((await scene.sql`select from training.activities where activity_id = ${ids[at]}`).length > 0)
          await write(scene, accountId, way, { id: ids[at] })
      }
      await update(scene)
      const routes = await rowsOf(scene)
      await scene.sql`update musette.ride_tracks set route_id = null`
      await update(scene)
      expect(await rowsOf(scene)).toEqual(routes)
      const added = await write(scene, accountId, ways[5] as Samples)
      expect(await update(scene)).toBe(1)
      expect((await rowsOf(scene)).filter((row) => row.activity_id !== added)).toEqual(routes)
    })
    await fc.assert(property, { numRuns: whole ? 60 : 8 })
  })
})
