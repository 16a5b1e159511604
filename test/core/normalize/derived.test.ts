import { describe, expect, it } from 'vitest'
import { normalizeActivity } from '../../../src/core/normalize/activity-answer.ts'
import { columnsOf } from '../../../src/core/service/wire/wire-activity.ts'

const START_S = Date.UTC(2024, 4, 1, 6) / 1_000
const DAY_S = 86_400
const [YEAR_1989, YEAR_2100] = [-11_078 * DAY_S, 27_700 * DAY_S]

type Sample = Record<string, number | null>

/** What is derived from samples: `at`, s, counts from the start of the ride; the service says its `duration`, s. */
function derive(samples: readonly (Sample & { at: number })[], duration: number | null = null) {
  const wire = columnsOf(
    samples.map(({ at, ...values }) => ({ unix_time: 1_000 * (START_S + at), ...values })),
  )
  if (!wire) throw new Error('too many samples')
  const { derived } = normalizeActivity({ session_data: wire, sigFtp: 200, duration, drift: [] })
  return derived
}

const ride = (seconds: number, from = 0, values: Sample = {}) =>
  Array.from({ length: seconds }, (_, index) => ({ at: from + index, power: 150, hr: 120, ...values }))
/** Samples of a ride, some of them with another clock. */
const strayed = (seconds: number, isStray: (index: number) => boolean, by: number) =>
  ride(seconds).map((sample, index) => ({ ...sample, at: sample.at + (isStray(index) ? by : 0) }))

describe('values are derived from the main run of a recording:', () => {
  it.each<
    [what: string, samples: ReturnType<typeof ride>, duration: number | null, elapsed: number, strays: number]
  >([
    ['no stray', ride(600), 600, 599, 0],
    ['5 of 600 samples in front are dated 1989', strayed(600, (n) => n < 5, YEAR_1989), 600, 594, 5],
    ['3 behind are dated 2100', strayed(600, (n) => n > 596, YEAR_2100), 600, 596, 3],
    [
      '3 behind are dated 2100, and the service tells no duration',
      strayed(600, (n) => n > 596, YEAR_2100),
      null,
      596,
      3,
    ],
    ['some in the middle are', strayed(600, (n) => n >= 300 && n < 310, YEAR_2100), 600, 599, 10],
    ['some are four days off', strayed(600, (n) => n < 5, -4 * DAY_S), 594, 594, 5],
    ['one behind is 30 hours off', [...ride(600), ...ride(1, 1.25 * DAY_S)], 600, 599, 1],
    ['one is a day off, as after a night', [...ride(1, -DAY_S), ...ride(600)], 600, DAY_S + 599, 0],
    ['every tenth one is', strayed(600, (n) => n % 10 === 5, YEAR_1989), 600, 599, 60],
    [
      'the clock is set once in the middle, the later half counts',
      strayed(600, (n) => n < 300, YEAR_1989),
      600,
      299,
      300,
    ],
    ['in front and behind', [...ride(2, YEAR_1989), ...ride(600), ...ride(3, YEAR_2100)], 600, 599, 5],
    [
      'a ride of three days with nights',
      [...ride(600), ...ride(600, DAY_S), ...ride(600, 2 * DAY_S)],
      2 * DAY_S,
      2 * DAY_S + 599,
      0,
    ],
    ['a ride with a day of rest', [...ride(600), ...ride(600, 2 * DAY_S)], 1_200, 2 * DAY_S + 599, 0],
    [
      'a ride with a day of rest, without a duration',
      [...ride(600), ...ride(300, 2 * DAY_S)],
      null,
      2 * DAY_S + 299,
      0,
    ],
    ['one sample', ride(1), 1, 0, 0],
    ['two samples, one of them dated 1989', strayed(2, (n) => n === 0, YEAR_1989), 1, 0, 1],
  ])('%s', (_, samples, duration, elapsed, strays) => {
    const { row, run, samples: kept, powerCurve, intensity, measures } = derive(samples, duration)
    expect([row.elapsedS, run.straySamples, kept.count]).toEqual([elapsed, strays, samples.length])
    const counted = samples.length - strays
    const zones = ([1, 2, 3, 4, 5, 6, 7] as const).map((zone) => intensity?.[`powerZ${zone}S`] ?? 0)
    expect(zones.reduce((sum, seconds) => sum + seconds, 0)).toBe(counted)
    expect(measures?.workKj).toBeCloseTo((150 * counted) / 1_000)
    expect(powerCurve?.points[0]).toEqual({ durationS: 1, watts: 150 })
    expect(powerCurve?.points.at(-1)?.durationS).toBe(elapsed + 1)
    expect(run.recordedFrom?.getTime()).toBe(
      [...kept.t].find((t) => Math.abs(t / 1_000 - START_S) < 3 * DAY_S),
    )
  })

  it('an activity without samples has no run', () => {
    expect(derive([])).toMatchObject({
      row: { elapsedS: null },
      run: { straySamples: null, recordedFrom: null },
    })
  })
})

describe('a measure', () => {
  const peakOf = (beats: readonly (number | null)[], every = 1) =>
    derive(beats.map((hr, index) => ({ at: index * every, hr }))).intensity?.hrPeak
  const many = (count: number, hr: number) => new Array<number>(count).fill(hr)

  it.each([
    ['reached for 10 s in a row', [...many(60, 140), ...many(10, 180), ...many(60, 140)], 1, 180],
    ['and not for 9', [...many(60, 140), ...many(9, 180), ...many(60, 140)], 1, 140],
    [
      'and not in spikes that are 10 s together',
      many(600, 140).map((hr, n) => (n % 50 === 0 ? 220 : hr)),
      1,
      140,
    ],
    [
      'and not with an unknown second between',
      [...many(9, 180), null, ...many(9, 180), ...many(60, 140)],
      1,
      140,
    ],
    [
      'and rising in them',
      [...many(60, 140), 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, ...many(60, 140)],
      1,
      170,
    ],
    ['for two samples that last 5 s', [...many(60, 140), 180, 180, ...many(60, 140)], 5, 180],
    ['by nobody', many(9, 180), 1, null],
  ])('hr_peak is a heart rate %s', (_, beats, every, peak) => {
    expect(peakOf(beats, every)).toBe(peak)
  })

  const speedOf = (dist: (second: number) => number) => {
    const samples = Array.from({ length: 600 }, (_, at) => ({ at, dist: dist(at) }))
    const { movingS, bestSpeed1Min } = derive(samples).measures ?? {}
    return [movingS, Math.round(100 * (bestSpeed1Min ?? 0)) / 100]
  }

  it.each<[what: string, dist: (second: number) => number, moving: number, kmh: number]>([
    ['a steady ride', (at) => 5 * at, 599, 18],
    ['dist falls back to 0 for a second', (at) => (at === 300 ? 0 : 5 * at), 597, 18],
    ['dist falls back by 200 m for 5 s', (at) => 5 * at - (at >= 300 && at < 305 ? 200 : 0), 593, 18],
    ['dist jumps by 100 km for a second', (at) => 5 * at + (at === 300 ? 1e5 : 0), 597, 18],
    ['dist begins anew in the middle', (at) => 5 * (at >= 300 ? at - 300 : at), 588, 18],
    ['standing still', () => 1_000, 0, 0],
  ])('best_speed is no more than was ridden: %s', (_, dist, moving, kmh) => {
    expect(speedOf(dist)).toEqual([moving, kmh])
  })

  it.each<[what: string, height: (second: number, noise: number) => number, least: number, most: number]>([
    ['noise of 1 m on the flat', (_, noise) => 100 + noise, 0, 0],
    ['the same, in whole metres', (_, noise) => Math.round(100 + noise), 0, 0],
    ['six hills of 50 m', (at) => 125 - 25 * Math.cos((2 * Math.PI * at) / 600), 290, 300],
    ['the same with noise', (at, noise) => 125 + noise - 25 * Math.cos((2 * Math.PI * at) / 600), 280, 310],
    ['one climb of 900 m', (at) => at / 4, 895, 900],
  ])('ascent_m is the height of climbs: %s', (_, height, least, most) => {
    let seed = 7
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const noise = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
    const samples = Array.from({ length: 3_600 }, (_, at) => ({ at, alt: height(at, noise()) }))
    const { ascentM } = derive(samples).measures ?? {}
    expect(ascentM).toBeGreaterThanOrEqual(least)
    expect(ascentM).toBeLessThanOrEqual(most)
  })

  it.each([
    ['30 m in 300 m is one', 30, 300, 300],
    ['more height is one', 100, 300, 300],
    ['a longer one is one', 30, 600, 600],
    ['less height is a bump', 29.9, 300, null],
    ['less way is a wall', 30, 299.9, null],
  ])('a climb begins at 30 m of height and 300 m of way: %s', (_, gain, length, found) => {
    const steps = Array.from({ length: 31 }, (_, at) => ({
      at,
      alt: (at * gain) / 30,
      dist: (at * length) / 30,
    }))
    expect(derive(steps).measures?.longestClimbLengthM).toBe(found)
  })

  it.each([
    ['both have power', 300, 200],
    ['the last one has none', 300, null],
  ])('and the power curve use the last of several samples in one second: %s', (_, earlier, later) => {
    const samples = ride(1_200).flatMap((sample) => [
      { ...sample, power: earlier },
      { ...sample, at: sample.at + 0.5, power: later },
    ])
    const { powerCurve, measures } = derive(samples as ReturnType<typeof ride>)
    const bests = powerCurve?.points.map(({ watts }) => watts) ?? []
    expect(Math.max(0, ...bests)).toBe(later ?? 0)
    expect(measures?.meanPower).toBe(later)
  })
})
