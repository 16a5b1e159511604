import { describe, expect, it } from 'vitest'
import { parseTime } from '../../../../src/features/dashboard/pages/activity/recording.ts'
import {
  makePart,
  makeRoute,
  makeTiles,
  nearestPoint,
  pointAt,
} from '../../../../src/features/dashboard/pages/activity/route.ts'
import { modelOf } from '../../../../src/features/dashboard/pages/activity/signature-model.ts'
import { type Samples, summarize } from '../../../../src/features/dashboard/pages/activity/summarize.ts'

const DAY_S = 86_400

function makeSamples(given: Partial<Samples>): Samples {
  const none: Samples = {
    elapsed_s: [],
    power: [],
    p_raw: [],
    mpa: [],
    hr: [],
    cad: [],
    alt: [],
    dist: [],
    lat: [],
    lng: [],
    fields: [],
    recorded: {},
  }
  return { ...none, ...given }
}
const seconds = (length: number) => Array.from({ length }, (_, index) => index)

describe('what is derived from the samples of an activity', () => {
  it('computes weighted power by the fourth power of 30 s means', () => {
    const weightedOf = (watts: number[]) =>
      summarize(makeSamples({ elapsed_s: seconds(watts.length), power: watts })).weighted_w
    expect(weightedOf(seconds(600).map(() => 200))).toBeCloseTo(200)
    // Half an hour at 100 W, then at 300 W: nearly the fourth root of (100⁴ + 300⁴) / 2.
    const halves = seconds(3_600).map((at) => (at < 1_800 ? 100 : 300))
    expect(weightedOf(halves)).toBeCloseTo(((100 ** 4 + 300 ** 4) / 2) ** 0.25, -1)
    expect(weightedOf(seconds(29).map(() => 200))).toBeNull()
  })

  it('leaves pauses out of work and moving time, and restarts the 30 s means after them', () => {
    const at = [...seconds(60), ...seconds(60).map((second) => second + 3_600)]
    const samples = makeSamples({
      elapsed_s: at,
      power: at.map(() => 100),
      dist: at.map((_, index) => (index < 60 ? index * 8 : 59 * 8)),
    })
    const summary = summarize(samples)
    expect(summary).toMatchObject({ elapsed_s: 3_659, recorded_s: 120, moving_s: 59, distance_m: 472 })
    expect(summary.work_kj).toBeCloseTo(12)
    expect(summary.weighted_w).toBeCloseTo(weightedOfHalves(60))
    expect(summary.speed_kmh.highest).toBeCloseTo(28.8)
  })

  it('counts a recording with samples every few seconds in full', () => {
    for (const every of [5, 20]) {
      const at = [...seconds(60), ...seconds(60).map((index) => index + 3_600 / every)].map(
        (index) => index * every,
      )
      const summary = summarize(makeSamples({ elapsed_s: at, power: at.map(() => 100) }))
      expect(summary).toMatchObject({ recorded_s: 120 * every })
      expect(summary.work_kj).toBeCloseTo((120 * every * 100) / 1_000)
      expect(summary.weighted_w).toBeCloseTo(weightedOfHalves(60 * every))
    }
  })

  /** Two parts of so many seconds of 100 W with a pause between: 30 means rise to it after the pause, all others are 100 W. */
  function weightedOfHalves(part: number): number {
    const counted = 2 * part - 29
    const rising = seconds(30).map((second) => (((second + 1) * 100) / 30) ** 4)
    return (rising.reduce((sum, fourth) => sum + fourth, (counted - 30) * 100 ** 4) / counted) ** 0.25
  }

  it('is null without a recording, never zero', () => {
    const summary = summarize(makeSamples({ elapsed_s: [0], hr: [77] }))
    expect(summary).toMatchObject({
      elapsed_s: 0,
      moving_s: null,
      distance_m: null,
      climbed_m: null,
      work_kj: null,
      weighted_w: null,
      power: { mean: null, highest: null, lowest: null },
      hr: { mean: 77, highest: 77, lowest: 77 },
    })
  })

  it('handles a day of seconds', () => {
    const at = seconds(DAY_S)
    const summary = summarize(
      makeSamples({ elapsed_s: at, power: at.map(() => 150), alt: at.map((x) => x % 100) }),
    )
    expect(summary.work_kj).toBeCloseTo((DAY_S * 150) / 1_000)
    expect(summary.climbed_m).toBeGreaterThan(70_000)
  })
})

describe('the picture of a route', () => {
  const samples = makeSamples({
    lat: [0, 47, 47.01, null, 47.02, 47.01],
    lng: [0, 8, 8.01, null, 8, 8],
  })

  it('leaves out unknown places, and keeps the shape', () => {
    const route = makeRoute(samples)
    expect(route?.points.map(({ index }) => index)).toEqual([1, 2, 4, 5])
    const [south, , north] = route?.points ?? []
    expect((south?.y ?? 0) > (north?.y ?? 0)).toBe(true)
    // 0.02 degrees of latitude are 2.2 km.
    expect(((south?.y ?? 0) - (north?.y ?? 0)) / (route?.scale ?? 1)).toBeCloseTo(2_226, -2)
    expect(route && pointAt(route, 3)?.index).toBe(2)
    expect(route && nearestPoint(route, 0, 0)?.index).toBe(4)
  })

  it('is missing for a ride on the spot or without coordinates', () => {
    expect(makeRoute(makeSamples({}))).toBeUndefined()
    expect(makeRoute(makeSamples({ lat: [47, 47], lng: [8, 8] }))).toBeUndefined()
  })

  it('is drawn on the right tiles', () => {
    const route = makeRoute(samples)
    const tiles = route
      ? makeTiles(route, 'https://tiles.example.com/{z}/{x}/{y}.png', makePart(route, 1, { x: 0, y: 0 }))
      : []
    expect(tiles.length).toBeGreaterThan(3)
    expect(tiles.length).toBeLessThan(60)
    const { x = 0, y = 0 } = route?.points[0] ?? {}
    const below = tiles.find(
      (tile) => x >= tile.x && x < tile.x + tile.size && y >= tile.y && y < tile.y + tile.size,
    )
    const [zoom = 0, column = 0, row = 0] = below?.address.match(/\d+/g)?.map(Number) ?? []
    expect(column).toBe(Math.floor((8 / 360 + 0.5) * 2 ** zoom))
    const mercator = Math.log(Math.tan(Math.PI / 4 + (47 * Math.PI) / 360))
    expect(row).toBe(Math.floor((0.5 - mercator / (2 * Math.PI)) * 2 ** zoom))
    // Enlarged four times, the same place lies on a finer tile, and few are fetched.
    const near = route ? makeTiles(route, '{z}/{x}/{y}', makePart(route, 4, { x, y })) : []
    expect(near.length).toBeLessThan(60)
    const fine = near.find(
      (tile) => x >= tile.x && x < tile.x + tile.size && y >= tile.y && y < tile.y + tile.size,
    )
    expect(fine?.address.split('/').map(Number).slice(0, 2)).toEqual([
      zoom + 2,
      Math.floor((8 / 360 + 0.5) * 2 ** (zoom + 2)),
    ])
  })
})

it('reads times as people write them', () => {
  expect(['1:02:03', '2:03', '45', 'x', '1:2:3:4', ''].map(parseTime)).toEqual([
    3_723,
    123,
    45,
    undefined,
    undefined,
    undefined,
  ])
})

it('lets a signature hold its peak briefly and its threshold without end', () => {
  const [now, later] = modelOf({ sig_ftp: 250, sig_atc: 20_000, sig_pp: 1_000 }, [0, 1e9]) ?? []
  expect([now?.watts, Math.round(later?.watts ?? 0)]).toEqual([1_000, 250])
  expect(modelOf({ sig_ftp: 250, sig_atc: null, sig_pp: 1_000 }, [1])).toBeUndefined()
})
