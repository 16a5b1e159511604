import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizePowerCurve, normalizeSamples } from '../../../src/core/normalize/activity-answer.ts'
import { columnsOf } from '../../../src/core/service/wire/wire-activity.ts'
import { makeExtra, makeSamplesOf } from '../../kit/samples.ts'

it('samples become columns in order of time; fields without a column are kept', () => {
  const { samples, extras, drift } = normalizeSamples(
    columns([
      { unix_time: 2_000, power: 200, hr: null, cad: '91', label: 'climb' },
      { unix_time: 1_000, power: '150.5', hr: 120, t_scaled: 0.5 },
    ]),
  )
  const { power, hr, cad } = samples.columns
  expect([samples.t, power, hr, cad].map((column) => [...column])).toEqual([
    [1_000, 2_000],
    [150.5, 200],
    [120, Number.NaN],
    [Number.NaN, 91],
  ])
  expect(extras).toEqual([makeExtra('label', [null, 'climb']), makeExtra('t_scaled', [0.5, null])])
  expect(drift.map(({ field }) => field)).toEqual(['session_data.label', 'session_data.t_scaled'])
})

describe('numbers out of range', () => {
  it('infinities and numbers beyond float4 become NaN and are reported', () => {
    const ENDLESS = Number.POSITIVE_INFINITY
    const { samples, drift, extras, lost } = normalizeSamples(
      columns([
        {
          unix_time: 1_000,
          power: 3.5e38,
          hr: '1e400',
          cad: 'Infinity',
          lat: 1e300,
          tws: 3.4e38,
          mm: ENDLESS,
        },
        { unix_time: 2_000, power: -1e39, hr: 120, cad: 90, lat: ENDLESS, tws: 1, mm: 2 },
      ]),
    )
    const held = (['power', 'hr', 'cad', 'lat', 'tws'] as const).map((name) =>
      [...samples.columns[name]].join(),
    )
    expect(held).toEqual(['NaN,NaN', 'NaN,120', 'NaN,90', '1e+300,NaN', '3.4e+38,1'])
    expect(extras).toEqual([makeExtra('mm', [null, 2])])
    expect(lost).toEqual({ values: 5, samples: 0 })
    const told = drift.map(({ field, kind, example }) => `${field.slice(13)} ${kind} ${example}`)
    expect(told.filter((line) => !line.includes('unknown')).sort()).toEqual([
      ...[
        'cad type Infinity',
        'hr range Infinity',
        'lat range Infinity',
        'mm range Infinity',
        'power range 3.5e+38',
      ],
    ])
    expect(normalizePowerCurve(samples)).toBeUndefined()
  })

  it('a sample whose time is out of range is dropped and counted', () => {
    const { samples, lost, drift } = normalizeSamples(
      columns([
        { unix_time: 1_000, power: 'strong' },
        { unix_time: 1e300 },
        { unix_time: 9e15 },
        { power: 1 },
      ]),
    )
    expect([samples.count, samples.columns.power[0], lost]).toEqual([
      1,
      Number.NaN,
      { values: 0, samples: 3 },
    ])
    expect(drift).toMatchObject([
      { field: 'session_data.unix_time', kind: 'type', example: 1e300 },
      { field: 'session_data.power', kind: 'type', example: 'strong' },
    ])
    expect(normalizeSamples(columns([{ unix_time: 'noon' }])).drift).toMatchObject([{ example: 'noon' }])
  })

  it('values of a field whose name exceeds 1,000 bytes are dropped and counted', () => {
    const [kept, long] = ['x'.repeat(1_000), 'x'.repeat(1_001)]
    const { extras, lost, drift } = normalizeSamples(columns([{ unix_time: 1_000, [kept]: 5, [long]: 6 }]))
    expect(extras).toEqual([makeExtra(kept, [5])])
    expect(lost).toEqual({ values: 1, samples: 0 })
    expect(drift.map(({ kind, example }) => [kind, example])).toEqual([
      ['unknown', 5],
      ['range', null],
    ])
  })
})

describe('power curve', () => {
  const step = fc.record({
    gap: fc.integer({ min: 0, max: 20 }),
    watts: fc.integer({ min: -60, max: 1_500 }),
  })
  const ride = fc
    .tuple(fc.boolean(), fc.constantFrom(1, 5, 20), fc.array(step, { minLength: 1, maxLength: 120 }))
    .map(([negative, usual, steps]) => {
      let second = 1_700_000_000
      return steps.map(({ gap, watts }) => {
        // Either gaps of all lengths, or steps of the usual length and a few gaps.
        second += usual === 20 || gap > 16 ? gap : usual
        return { second, watts: negative ? watts : Math.abs(watts) }
      })
    })

  it('the power curve equals a brute-force search over every window', () => {
    fc.assert(
      fc.property(ride, (points) => {
        const samples = makeSamplesOf(points.map(({ second, watts }) => ({ at: second, power: watts })))
        const bySecond = holdEach(new Map(points.map((point) => [point.second, point.watts])))
        const first = Math.min(...bySecond.keys())
        const length = Math.max(...bySecond.keys()) - first + 1
        const curve = normalizePowerCurve(samples)?.points ?? []
        expect(curve.at(-1)?.durationS).toBe(length)
        for (const { durationS, watts } of curve) {
          let best = Number.NEGATIVE_INFINITY
          for (let start = first; start + durationS <= first + length; start++) {
            let sum = 0
            for (let second = start; second < start + durationS; second++) sum += bySecond.get(second) ?? 0
            best = Math.max(best, sum / durationS)
          }
          expect(watts).toBeCloseTo(best, 9)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('a steady power gives a flat power curve, whatever the sample spacing', () => {
    for (const [every, power] of [
      [1, 200],
      [2, 200],
      [5, 200],
      [60, 200],
      [1, 0],
    ] as const) {
      const samples = makeSamplesOf(Array.from({ length: 240 }, (_, index) => ({ at: index * every, power })))
      const points = normalizePowerCurve(samples)?.points ?? []
      expect(points.at(-1)).toEqual({ durationS: 240 * every, watts: power })
      expect(points.every(({ watts }) => watts === power)).toBe(true)
    }
  })

  it('the power curve uses `p_raw` if available, and names its source', () => {
    const samples = makeSamplesOf([{ power: 100 }, { power: 100 }])
    const points = (best: number, mean: number) => [
      { durationS: 1, watts: best },
      { durationS: 2, watts: mean },
    ]
    expect(normalizePowerCurve(samples)).toEqual({ source: 'power', points: points(100, 100) })
    samples.columns.p_raw.set([0, 300])
    expect(normalizePowerCurve(samples)).toEqual({ source: 'p_raw', points: points(300, 150) })
  })

  it('a ride without power, or whose clock jumps by years, has no power curve', () => {
    expect(normalizePowerCurve(makeSamplesOf([{}, {}]))).toBeUndefined()
    const jump = makeSamplesOf([{ power: 1 }, { at: 1_700_000_000, power: 2 }])
    expect(normalizePowerCurve(jump)).toBeUndefined()
  })
})

/** Makes each value last until the next one if that is less than two usual steps away, otherwise for one usual step. */
function holdEach(sparse: Map<number, number>): Map<number, number> {
  const seconds = [...sparse.keys()]
  const steps = seconds.slice(1).map((second, index) => second - (seconds[index] ?? 0))
  const usual = steps.toSorted((a, b) => a - b)[Math.ceil(steps.length / 2) - 1] ?? 1
  return new Map(
    [...sparse].flatMap(([second, watts], index) => {
      const step = steps[index] ?? usual
      return Array.from(
        { length: step < 2 * usual ? step : usual },
        (_, held) => [second + held, watts] as const,
      )
    }),
  )
}

function columns(sent: Record<string, unknown>[]) {
  const made = columnsOf(sent)
  if (!made) throw new Error('too many samples')
  return made
}
