import { describe, expect, it } from 'vitest'
import { findMap } from '../../../src/features/dashboard/pages/map/queries.ts'
import {
  decodeTrack,
  EARTH_M,
  type Place,
  project,
} from '../../../src/features/dashboard/shared/world-places.ts'
import { openScene } from '../../core/store/sql/scene.ts'
import { readConfig } from '../../kit/config.ts'

/** Rides of 2,000 s round Zürich, Sydney, over the date line and on the spot, by their place after a share of the way. */
const RIDES: Readonly<Record<string, (part: number) => readonly [lat: number, lng: number]>> = {
  loop: (part) => [47.37 + 0.1 * Math.sin(2 * Math.PI * part), 8.54 + 0.2 * Math.cos(4 * Math.PI * part)],
  south: (part) => [-33.87 + 0.3 * part, 151.2 + 0.05 * Math.sin(20 * part)],
  'date line': (part) => [-17 + part, 179.9 - part / 10],
  'on the spot': () => [47, 8],
}

describe('the tracks of the map', () => {
  it('are near each sample, of 36 points at most, made once, and again when the samples have changed', async () => {
    const scene = await openScene()
    const [account, other] = [await scene.account(), await scene.account('other')]
    const app = { store: scene.store, config: readConfig() }
    const write = async (id: number, of: (part: number) => readonly [number, number]) => {
      await scene.query('delete from training.samples where activity_id = $1', [id])
      await scene.query(
        `insert into training.samples (activity_id, t, lat, lng)
         select $1, '2025-06-01T08:00:00Z'::timestamptz + n * interval '1 s', lat, lng
         from unnest($2::float8[], $3::float8[]) with ordinality s(lat, lng, n)`,
        [id, ...[0, 1].map((at) => Array.from({ length: 2_001 }, (_, n) => of(n / 2_000)[at]))],
      )
      await scene.query(
        `insert into musette.content_versions values ($1, gen_random_uuid())
         on conflict (activity_id) do update set version = excluded.version`,
        [id],
      )
    }
    const ids = new Map<string, number>()
    for (const [name, of] of Object.entries(RIDES)) {
      const ride = { name, start_lat: 1, start_lng: 1, sample_count: 2_001, activity_type: 'Running' }
      const id = await scene.ride(name === 'south' ? other : account, '2025-06-01T08:00:00Z', ride)
      ids.set(name, id)
      await write(id, of)
    }
    const indoor = await scene.ride(account, '2025-06-02T08:00:00Z', { name: 'indoor', sample_count: 2_001 })
    const tracks = async (of?: number) =>
      new Map(
        (await findMap(app, of, () => 0))?.tracks.map(({ name, track }) => [
          String(name),
          decodeTrack(track),
        ]),
      )
    // When a track takes a second, an answer waits for one, and the next has more.
    let clock = 0
    for (const count of [1, 2]) {
      const slow = await findMap(app, account, () => (clock += 1_000))
      expect([slow?.tracks.length, slow?.is_drawing]).toEqual([count, true])
    }
    const found = new Map([...(await tracks()), ...(await tracks(other))])
    expect([...found.keys()].sort()).toEqual(Object.keys(RIDES).sort())
    for (const [name, of] of Object.entries(RIDES)) {
      const track = found.get(name) ?? []
      expect(track.length).toBeLessThanOrEqual(36)
      const places = Array.from({ length: 101 }, (_, n) => project(...of(n / 100)))
      const furthest = Math.max(...places.map((place) => distance(place, track))) * EARTH_M
      // Of a way of 70 km.
      expect([name, furthest < 600]).toEqual([name, true])
      expect(distance(track[0] ?? { x: 0, y: 0 }, places.slice(0, 1)) * EARTH_M).toBeLessThan(80)
    }
    const made = async () =>
      (await scene.query('select musette.draw_tracks($1, 36, 9) as tracks', [account]))[0]?.tracks
    expect(await made()).toBe(0)
    await write(ids.get('on the spot') ?? 0, (part) => [47, 8 + part])
    expect(await made()).toBe(1)
    expect((await tracks()).get('on the spot')).toHaveLength(2)
    await scene.query('update training.activities set absent_since = now() where activity_id = $1', [
      ids.get('loop'),
    ])
    expect([...(await tracks()).keys()].sort()).toEqual(['date line', 'on the spot'])
    expect(await findMap(app, 999)).toBeUndefined()
    expect(indoor).toBeGreaterThan(0)
  })
})

/** The distance of a place from a line. */
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
