import { describe, expect, it } from 'vitest'
import {
  makeLocalClock,
  makeSteps,
  withPauses,
} from '../../../../src/features/dashboard/pages/activity/recording.ts'
import { cut } from '../../../../src/features/dashboard/pages/fitness/queries.ts'
import {
  formatDay,
  formatNumber,
  formatSpan,
  formatStopwatch,
  formatWallClock,
  lastOfMonths,
} from '../../../../src/features/dashboard/shared/format.ts'

const HOUR_S = 3_600

describe('the local clock of an activity', () => {
  const clock = (started_at: string, started_at_local: string, timezone: string | null) =>
    makeLocalClock({ started_at, started_at_local, timezone })

  it('changes to summer time in a named zone', () => {
    const night = clock('2026-03-29T00:30:00Z', '2026-03-29T01:30:00', 'Europe/Paris')
    expect([0, HOUR_S].map((at) => night?.of(at))).toEqual(['01:30', '03:30'])
  })

  it('continues evenly from the start with only an offset or an abbreviation', () => {
    const offset = clock('2026-03-29T00:30:00Z', '2026-03-29T01:30:00', '+01:00')
    expect([0, HOUR_S].map((at) => offset?.of(at))).toEqual(['01:30', '02:30'])
    const abbreviation = clock('2026-07-01T12:00:00Z', '2026-07-01T08:00:00', 'EDT')
    expect([abbreviation?.of(0), abbreviation?.zone]).toEqual(['08:00', 'EDT'])
  })

  it('uses the time of the service when the browser has another one or no such zone', () => {
    expect(clock('2026-07-01T12:00:00Z', '2026-07-01T08:05:00', 'Europe/Paris')?.of(60)).toBe('08:06')
    expect(clock('2026-07-01T12:00:00Z', '2026-07-01T08:00:00', 'Moon/Tranquillity')?.of(0)).toBe('08:00')
  })

  it('is undefined without a readable start', () => {
    expect(makeLocalClock({ started_at: null, started_at_local: null, timezone: null })).toBeUndefined()
  })
})

const NOTHING = {
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

describe('the samples of an activity', () => {
  const constant = (length: number, value: number | null) => Array.from({ length }, () => value)

  it('interrupt a line at a pause', () => {
    const shown = withPauses([0, 1, 2, 100], { power: [1, 2, 3, 4], hr: [] })
    expect(shown).toEqual({
      x: [0, 1, 2, 3, 100],
      lines: { power: [1, 2, 3, null, 4] },
      places: [0, 1, 2, 2, 3],
    })
  })

  it('are summed up in at most 24 steps, however long the activity is', () => {
    for (const length of [1, 59, 600, 5_400, 43_200, 200_000]) {
      const elapsed_s = Array.from({ length }, (_, index) => index)
      const steps = makeSteps({
        ...NOTHING,
        elapsed_s,
        power: constant(length, 200),
        mpa: constant(length, 900),
        hr: constant(length, null),
      })
      expect(steps.length).toBeGreaterThan(0)
      expect(steps.length).toBeLessThanOrEqual(24)
      expect(steps.at(-1)).toMatchObject({ mean_power: 200, lowest_mpa: 900, mean_hr: null })
    }
  })

  it('are null in a step without recording', () => {
    const samples = {
      ...NOTHING,
      elapsed_s: [0, 1, 200],
      power: [100, 300, 50],
      mpa: [9, 8, 7],
      hr: [null, null, null],
    }
    const steps = makeSteps(samples)
    expect(steps.map((step) => [step.from_s, step.mean_power, step.highest_power])).toEqual([
      [0, 200, 300],
      [60, null, null],
      [120, null, null],
      [180, 50, 50],
    ])
  })
})

describe('a number in words', () => {
  it.each([
    [-0.4, 0, '0', '0'],
    [-0.04, 1, '0', '0'],
    [-12.34, 1, '−12.3', '−12.3'],
    [12.34, 1, '12.3', '+12.3'],
    [-1_234.5, 0, '−1,235', '−1,235'],
    [Number.NaN, 0, '–', '–'],
    [null, 0, '–', '–'],
  ])(
    '%s with %i decimals has a minus and not a hyphen, and no sign when it rounds to zero',
    (value, digits, plain, signed) => {
      expect([formatNumber(value, '', digits), formatNumber(value, '', digits, 'exceptZero')]).toEqual([
        plain,
        signed,
      ])
    },
  )

  it('is rounded once, even if a page gets fewer digits than the database', () => {
    for (const value of [10.46, 10.499, 10.4999, 249.45, 249.951, 0.349, -10.46, -0.0499, 10.5, 12])
      for (const digits of [0, 1])
        expect([value, formatNumber(cut(value), '', digits)]).toEqual([
          value,
          formatNumber(value, '', digits),
        ])
  })
})

describe('times in words', () => {
  it('a day comes from the daemon, never from an instant', () => {
    expect([formatDay('2026-11-18'), formatDay(Date.UTC(2026, 10, 18) / 1_000)]).toEqual([
      '18 Nov 2026',
      '18 Nov 2026',
    ])
    expect(() => formatDay('2026-11-18T23:30:00.000Z')).toThrow(RangeError)
  })

  it('are formatted as a stopwatch, a duration and a local time', () => {
    expect([0, 59.6, 61, 3_599, 3_725].map((seconds) => formatStopwatch(seconds))).toEqual([
      '0:00',
      '1:00',
      '1:01',
      '59:59',
      '1:02:05',
    ])
    expect([0, 5, 60, 1_200, 5_400, 90_000].map(formatSpan)).toEqual([
      '0 s',
      '5 s',
      '1 min',
      '20 min',
      '1 h 30 min',
      '1 d 1 h',
    ])
    expect(formatWallClock('2026-11-18T17:05:00')).toBe('Wed, 18 Nov 2026, 17:05')
    expect(formatWallClock(null)).toBe('no readable date')
  })

  it('are grouped by month, with the last value of each', () => {
    const at = ['2026-01-05', '2026-01-31T23:59:59Z', '2026-02-01', '2026-04-01'].map(
      (day) => Date.parse(day) / 1_000,
    )
    expect(lastOfMonths(at)).toEqual([1, 2, 3])
  })
})
