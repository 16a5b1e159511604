import { describe, expect, it } from 'vitest'
import {
  makeLocalClock,
  makeSteps,
  withPauses,
} from '../../../../src/features/dashboard/pages/activity/recording.ts'
import { makeRoute, nearestPoint, pointAt } from '../../../../src/features/dashboard/pages/activity/route.ts'
import { type Samples, summarize } from '../../../../src/features/dashboard/pages/activity/summarize.ts'
import {
  EARTH_M,
  makeTiles,
  project,
  seeAll,
  type Tile,
} from '../../../../src/features/dashboard/shared/world-places.ts'
import { readTable } from '../../../kit/table.ts'

const NONE: Samples = {
  ...{ elapsed_s: [], power: [], p_raw: [], mpa: [], hr: [], cad: [] },
  ...{ alt: [], dist: [], lat: [], lng: [], fields: [], recorded: {} },
}
const makeSamples = (given: Partial<Samples>): Samples => ({ ...NONE, ...given })
const seconds = (length: number) => Array.from({ length }, (_, index) => index)
/** Summarizes a recording with samples at these seconds and a constant power. */
const summarizeSteady = (at: number[], watts: number) =>
  summarize(makeSamples({ elapsed_s: at, power: at.map(() => watts) }))

describe('the summary of an activity', () => {
  it('computes weighted power from the fourth power of 30 s means', () => {
    expect(summarizeSteady(seconds(600), 200).weighted_w).toBeCloseTo(200)
    // Half an hour at 100 W, then half an hour at 300 W: close to the fourth root of (100⁴ + 300⁴) / 2.
    const power = seconds(3_600).map((at) => (at < 1_800 ? 100 : 300))
    const halves = summarize(makeSamples({ elapsed_s: seconds(3_600), power }))
    expect(halves.weighted_w).toBeCloseTo(((100 ** 4 + 300 ** 4) / 2) ** 0.25, -1)
    expect(summarizeSteady(seconds(29), 200).weighted_w).toBeNull()
  })

  it.each([1, 5, 20])(
    'leaves pauses out, restarts the 30 s means after them, and counts samples every %i s in full',
    (every) => {
      const at = [...seconds(60), ...seconds(60).map((index) => index + 3_600 / every)].map(
        (index) => index * every,
      )
      const dist = at.map((_, index) => Math.min(index, 59) * 8)
      const summary = summarize(makeSamples({ elapsed_s: at, power: at.map(() => 100), dist }))
      expect(summary).toMatchObject({
        elapsed_s: 3_600 + 59 * every,
        recorded_s: 120 * every,
        distance_m: 472,
      })
      expect(summary.work_kj).toBeCloseTo((120 * every * 100) / 1_000)
      // The means start to rise again after the pause.
      expect(summary.weighted_w).toBeLessThan(99.9)
      if (every === 1)
        expect([summary.moving_s, summary.speed_kmh.highest]).toEqual([59, expect.closeTo(28.8)])
    },
  )

  it('averages over time and not over samples, as ride_measures does', () => {
    // Of every three minutes, one has a sample every 6 s at 300 W, and two have a sample every 4 s at 100 W.
    const minutes = (every: number) => seconds(60 / every).map((index) => index * every)
    const round = [...minutes(4), ...minutes(6).map((s) => 60 + s), ...minutes(4).map((s) => 120 + s)]
    const at = seconds(10).flatMap((index) => round.map((s) => index * 180 + s))
    const of = (slow: number, fast: number) => at.map((s) => (s % 180 >= 60 && s % 180 < 120 ? fast : slow))
    const dist = at.map(
      (s) => Math.floor(s / 180) * 1_200 + (s % 180) * 5 + Math.min(Math.max((s % 180) - 60, 0), 60) * 5,
    )
    const samples = makeSamples({
      elapsed_s: at,
      power: of(100, 300),
      hr: of(100, 160),
      cad: of(60, 90),
      dist,
    })
    const means = ({ power, hr, cad, speed_kmh: speed }: ReturnType<typeof summarize>) =>
      [power.mean, hr.mean, cad.mean, speed.mean].map((mean) => Math.round(mean ?? Number.NaN))
    expect(means(summarize(samples))).toEqual([167, 120, 70, 24])
    // The section has 28 s before and 30 s within the first fast minute; the speed of the last sample is unknown.
    expect(means(summarize(samples, 8, 20))).toEqual([203, 131, 76, 26])
    const [first] = makeSteps(samples)
    expect(first).toMatchObject({ mean_power: 200, mean_hr: 130, mean_cad: 75 })
  })

  it('is null and never zero if nothing was recorded', () => {
    const none = { moving_s: null, distance_m: null, climbed_m: null, work_kj: null, weighted_w: null }
    const [power, hr] = [null, 77].map((value) => ({ mean: value, highest: value, lowest: value }))
    const one = summarize(makeSamples({ elapsed_s: [0], hr: [77] }))
    expect(one).toMatchObject({ elapsed_s: 0, ...none, power, hr })
  })
})

it.each(
  readTable(`
changes to summer time in a named zone | 2026-03-29T00:30 | 01:30 | Europe/Paris | 03:30
continues evenly with only an offset | 2026-03-29T00:30 | 01:30 | +01:00 | 02:30
continues evenly with only an abbreviation | 2026-07-01T12:00 | 08:00 | EDT | 09:00
is that of the service when the browser has another one | 2026-07-01T12:00 | 08:05 | Europe/Paris | 09:05
is that of the service when the browser has no such zone | 2026-07-01T12:00 | 08:00 | Moon/Tranquillity | 09:00
is undefined without a readable start | | | |`),
)('the local clock of an activity %s', (_title, at = '', local = '', zone = '', later = '') => {
  const started_at_local = at === '' ? null : `${at.slice(0, 10)}T${local}:00`
  const started_at = at === '' ? null : `${at}:00Z`
  const clock = makeLocalClock({ started_at, started_at_local, timezone: zone === '' ? null : zone })
  const found = clock && [clock.of(0), clock.of(3_600), clock.zone]
  expect(found).toEqual(at === '' ? undefined : [local, later, zone])
})

describe('the samples of an activity', () => {
  it('interrupt a chart’s line at a pause', () => {
    const shown = withPauses([0, 1, 2, 100], { power: [1, 2, 3, 4], hr: [] })
    const lines = { power: [1, 2, 3, null, 4] }
    expect(shown).toEqual({ x: [0, 1, 2, 3, 100], lines, places: [0, 1, 2, 2, 3] })
  })

  it('are summarized in at most 24 steps, null in a step without recording', () => {
    for (const length of [1, 59, 600, 200_000]) {
      const steps = makeSteps(makeSamples({ elapsed_s: seconds(length), power: Array(length).fill(200) }))
      expect([steps.length > 0, steps.length <= 24]).toEqual([true, true])
      expect(steps.at(-1)).toMatchObject({ mean_power: 200, mean_hr: null })
    }
    const steps = makeSteps(makeSamples({ elapsed_s: [0, 1, 200], power: [100, 300, 50], mpa: [9, 8, 7] }))
    expect(steps.map((step) => [step.from_s, step.mean_power, step.highest_power])).toEqual([
      [0, 200, 300],
      [60, null, null],
      [120, null, null],
      [180, 50, 50],
    ])
  })
})

describe('the map of a route', () => {
  const samples = makeSamples({
    lat: [0, 47, 47.01, null, 47.02, 47.01],
    lng: [0, 8, 8.01, null, 8, 8],
  })

  it('leaves out unknown places and keeps the shape', () => {
    const route = makeRoute(samples) ?? [{ x: 0, y: 0, index: -1 }]
    expect(route.map(({ index }) => index)).toEqual([1, 2, 4, 5])
    const [south, , north] = route
    // 0.02° of latitude are 2.2 km.
    const metres = EARTH_M * Math.cos((47 * Math.PI) / 180)
    expect((south.y - (north?.y ?? 0)) * metres).toBeCloseTo(2_226, -2)
    expect(pointAt(route, 3)?.index).toBe(2)
    expect(nearestPoint(route, { x: 0, y: 0 }).index).toBe(4)
    const { scale } = seeAll(route, 1_000, 500)
    expect(scale * (south.y - (north?.y ?? 0))).toBeCloseTo(450)
  })

  it('takes tiles from hosts a, b and c if the URL contains {s}', () => {
    const template = 'https://{s}.example.com/{z}/{x}/{y}{r}.png'
    const tiles = makeTiles({ ...project(47, 8), scale: 100_000 }, template, 800, 600)
    const hosts = tiles.map(
      ({ address }) => /^https:\/\/([abc])\.example\.com\/\d+\/\d+\/\d+\.png$/.exec(address)?.[1],
    )
    expect([...new Set(hosts)].sort()).toEqual(['a', 'b', 'c'])
  })

  it('is drawn on the right tiles, with finer tiles when zoomed in', () => {
    const eye = { ...project(47, 8), scale: 100_000 }
    // The map fetches few tiles, and one contains the place in the middle.
    const [below, fine] = [1, 4].map((enlarged) => {
      const template = 'https://tiles.example.com/{z}/{x}/{y}.png'
      const tiles = makeTiles({ ...eye, scale: eye.scale * enlarged }, template, 800, 600)
      expect(tiles.length).toBeGreaterThan(3)
      expect(tiles.length).toBeLessThan(60)
      const holds = ({ x, y, size }: Tile) => x <= 400 && 400 < x + size && y <= 300 && 300 < y + size
      return tiles.find(holds)?.address.match(/\d+/g)?.map(Number) ?? []
    })
    const [zoom = 0, column, row] = below ?? []
    const columnAt = (level: number) => Math.floor((8 / 360 + 0.5) * 2 ** level)
    expect(column).toBe(columnAt(zoom))
    const mercator = Math.log(Math.tan(Math.PI / 4 + (47 * Math.PI) / 360))
    expect(row).toBe(Math.floor((0.5 - mercator / (2 * Math.PI)) * 2 ** zoom))
    expect(fine?.slice(0, 2)).toEqual([zoom + 2, columnAt(zoom + 2)])
  })
})
