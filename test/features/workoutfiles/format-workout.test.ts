import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SavedWorkout } from '../../../src/core/store/workout-rows.ts'
import { formatWorkout } from '../../../src/features/workoutfiles/format-workout.ts'
import {
  WORKOUT_FORMATS,
  type WorkoutFileFormat,
} from '../../../src/features/workoutfiles/workout-formats.ts'
import { whole } from '../../kit/sampling.ts'
import { readCourse, readFitWorkout, readZwo } from './readers.ts'

type WorkoutSet = SavedWorkout['sets'][number]

const FTP = 251.3
const steady = (name: string | null, power: number, duration: number, count = 1): WorkoutSet => ({
  ...{ name, power, duration, power_rest: null, duration_rest: null, interval_count: count },
})
const WORKOUT: SavedWorkout = {
  path: 'own0one',
  isOwn: true,
  name: 'Threshold 3×10 <hard>',
  description: 'Stay "seated" & [breathe].\r\nThen rest.',
  ftp: FTP,
  resolvedAt: new Date('2026-03-01T12:00:00Z'),
  sets: [
    steady('Warmup', 150.5, 600),
    { ...steady('Intervals', 246.27, 61, 3), power_rest: 125.65, duration_rest: 29 },
    steady('Again', 300, 13, 2),
    steady(null, 100, 300),
  ],
}

/** The watts of each second, read naively from the service's document. */
function wattsOf({ sets }: SavedWorkout): number[] {
  const watts: number[] = []
  const ride = (power: number | null, seconds: number | null) => {
    for (let second = 0; second < (seconds ?? 0); second++) watts.push(power ?? 0)
  }
  for (const set of sets)
    for (let i = 0; i < (set.interval_count ?? 1); i++) {
      ride(set.power, set.duration)
      ride(set.power_rest, set.duration_rest)
    }
  return watts
}

function contentOf(workout: SavedWorkout, format: WorkoutFileFormat): string {
  const formatted = formatWorkout(workout, format)
  if ('problem' in formatted) throw new Error(formatted.problem)
  return String(formatted.content)
}

function readBack(workout: SavedWorkout, format: 'zwo' | 'erg' | 'mrc' | 'fit') {
  if (format === 'zwo') return readZwo(contentOf(workout, 'zwo'), workout.ftp ?? 0)
  if (format !== 'fit') return readCourse(contentOf(workout, format), workout.ftp ?? Number.NaN)
  const formatted = formatWorkout(workout, 'fit')
  if ('problem' in formatted) throw new Error(formatted.problem)
  return readFitWorkout(formatted.content as Uint8Array)
}

/** Half of the last digit in each format, W. */
const EXACT = { zwo: 0.001, erg: 0.005, mrc: 0.001, fit: 0.5 }

const FORMATS = ['zwo', 'erg', 'mrc', 'fit'] as const
/** Each run writes and reads thousands of seconds. */
const RUNS = whole ? 60 : 20
const int = (min: number, max: number) => fc.integer({ min, max })
const rest = fc.record({ power_rest: int(0, 900), duration_rest: int(1, 90) })
const set = fc.record({
  name: fc.option(fc.string({ unit: 'grapheme', maxLength: 40 })),
  power: int(0, 2_400).map((half) => half / 2),
  duration: int(1, 200),
  interval_count: fc.option(int(1, 6)),
  rest: fc.option(rest, { nil: { power_rest: null, duration_rest: null } }),
})
const sets = fc.array(
  set.map(({ rest, ...others }) => ({ ...others, ...rest })),
  { minLength: 1, maxLength: 12 },
)

describe('a workout as a file', () => {
  it.each(FORMATS)('has the watts of every second as .%s', (format) => {
    const property = fc.property(sets, fc.double({ min: 40, max: 500, noNaN: true }), (some, ftp) => {
      const workout = { ...WORKOUT, sets: some, ftp }
      const expected = wattsOf(workout)
      const { watts } = readBack(workout, format)
      expect(watts).toHaveLength(expected.length)
      const errors = watts.map((power, i) => Math.abs(power - (expected[i] ?? Number.NaN)))
      expect(Math.max(...errors)).toBeLessThanOrEqual(EXACT[format] + 1e-9)
    })
    fc.assert(property, { numRuns: RUNS })
  })

  // A step shorter than half a second is dropped.
  const quarters = int(2, 400).map((count) => count / 4)
  const odd = fc.record({
    duration: quarters,
    duration_rest: fc.option(quarters),
    interval_count: int(1, 9),
  })
  const fractions = fc.array(
    odd.map((some) => ({ ...steady('x', 200, 1), ...some, power_rest: 100 })),
    { minLength: 1, maxLength: 8 },
  )

  it('keeps its length in whole seconds and each moment within 0.5 s in every format', () => {
    const eight = { ...WORKOUT, sets: [steady('x', 200, 10.5, 8)] }
    for (const format of FORMATS) expect(readBack(eight, format).watts, format).toHaveLength(84)
    const property = fc.property(fractions, (some) => {
      const workout = { ...WORKOUT, sets: some }
      const longer = ({ duration, duration_rest: rest, ...set }: (typeof some)[number]) => ({
        ...{ ...set, duration: duration * 4, duration_rest: rest === null ? null : rest * 4 },
      })
      const exactly = wattsOf({ ...workout, sets: some.map(longer) })
      const files = FORMATS.map((format) => readBack(workout, format).watts)
      for (const watts of files) {
        expect(watts).toHaveLength(Math.round(exactly.length / 4))
        const isNear = (power: number, second: number) =>
          exactly
            .slice(Math.max(0, second * 4 - 2), second * 4 + 6)
            .some((exact) => Math.abs(exact - power) < 1)
        expect(watts.every(isNear)).toBe(true)
      }
      const { seconds } = JSON.parse(contentOf(workout, 'json'))
      expect(seconds).toBe(files[0]?.length)
    })
    fc.assert(property, { numRuns: RUNS })
  })

  it('keeps its name, its description and the names of its sets', () => {
    expect(readBack(WORKOUT, 'zwo')).toMatchObject({
      name: WORKOUT.name,
      description: 'Stay "seated" & [breathe].\nThen rest.',
      texts: ['Warmup', 'Intervals', 'Again', 'Again'],
    })
    for (const format of ['erg', 'mrc'] as const)
      expect(readBack(WORKOUT, format)).toMatchObject({
        name: WORKOUT.name,
        description: 'Stay "seated" & (breathe). Then rest.',
        texts: ['Warmup', 'Intervals', 'Intervals', 'Intervals', 'Again', 'Again'],
      })
    expect(readBack(WORKOUT, 'fit').name).toBe(WORKOUT.name)
    expect(JSON.parse(contentOf(WORKOUT, 'json'))).toMatchObject({
      ...{ path: 'own0one', name: WORKOUT.name, description: WORKOUT.description, ftp: FTP },
      seconds: wattsOf(WORKOUT).length,
    })
  })

  it('gives a device a power range, repetitions and the purpose of each step', () => {
    const { messages } = readFitWorkout((formatWorkout(WORKOUT, 'fit') as { content: Uint8Array }).content)
    expect(messages.fileIdMesgs).toMatchObject([{ type: 'workout', timeCreated: WORKOUT.resolvedAt }])
    expect(messages).toMatchObject({
      workoutMesgs: [{ sport: 'cycling', numValidSteps: 7 }],
      workoutStepMesgs: [
        { intensity: 'warmup', targetType: 'power', wktStepName: 'Warmup' },
        { intensity: 'active' },
        { intensity: 'rest' },
        { durationType: 'repeatUntilStepsCmplt', durationStep: 1, repeatSteps: 3 },
        { wktStepName: 'Again' },
        { durationStep: 4, repeatSteps: 2 },
        { intensity: 'active', messageIndex: 6 },
      ],
    })
  })

  it('is the same valid text every time, whatever the name', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom(']]>', '[END COURSE DATA]\r\n0\t900', '<!--', '&#0;', '\u0000\ud800'),
    )
    fc.assert(
      fc.property(name, name, (text, description) => {
        const workout = { ...WORKOUT, name: text, description, sets: [steady(text, 100, 10)] }
        for (const format of FORMATS) expect(readBack(workout, format).watts).toHaveLength(10)
        for (const format of WORKOUT_FORMATS)
          expect(formatWorkout(workout, format)).toEqual(formatWorkout(workout, format))
      }),
      { numRuns: RUNS * 4 },
    )
  })

  it.each<[string, Partial<SavedWorkout>, string]>([
    ['no set', { sets: [] }, 'has no steps'],
    ['no second', { sets: [steady('x', 100, 0.2)] }, 'has no steps'],
    ['no power', { sets: [{ ...steady('x', 1, 60), power: null }] }, 'without a possible power'],
    ['a power below zero', { sets: [steady('x', -1, 60)] }, 'without a possible power'],
    ['a power of no rider', { sets: [steady('x', 1e300, 60)] }, 'without a possible power'],
    ['no duration', { sets: [{ ...steady('x', 1, 60), duration: null }] }, 'without a possible power'],
    ['a count without end', { sets: [steady('x', 100, 1, 2_000_000_000)] }, 'more than 10000 steps'],
    ['a count below zero', { sets: [steady('x', 100, 1, -1)] }, 'without a possible power'],
    ['a year', { sets: [steady('x', 100, 86_400, 365)] }, 'longer than a week'],
  ])('is not written for a workout with %s, with the reason', (_, change, reason) => {
    for (const format of WORKOUT_FORMATS) {
      const formatted = formatWorkout({ ...WORKOUT, ...change }, format)
      expect(formatted).toHaveProperty('problem', expect.stringContaining(reason))
    }
  })

  it('has shares of FTP only if the FTP is known', () => {
    const workout = { ...WORKOUT, ftp: null }
    for (const format of ['zwo', 'mrc'] as const)
      expect(formatWorkout(workout, format)).toHaveProperty('problem', expect.stringContaining('FTP'))
    for (const format of ['erg', 'fit'] as const) expect(readBack(workout, format).watts).toHaveLength(1_196)
    expect(JSON.parse(contentOf(workout, 'json')).steps[0]).toMatchObject({ watts: 150.5, ftp_share: null })
  })
})
