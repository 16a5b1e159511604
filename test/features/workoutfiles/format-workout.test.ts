import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SavedWorkout } from '../../../src/core/store/workout-rows.ts'
import { formatWorkout } from '../../../src/features/workoutfiles/format-workout.ts'
import {
  WORKOUT_FORMATS,
  type WorkoutFileFormat,
} from '../../../src/features/workoutfiles/workout-formats.ts'
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

/** The watts of each second, by the plain reading of the service's document. */
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

/** Half of the last digit that each format has, W. */
const EXACT = { zwo: 0.001, erg: 0.005, mrc: 0.001, fit: 0.5 }

const sets = fc.array(
  fc
    .record({
      name: fc.option(fc.string({ unit: 'grapheme', maxLength: 40 })),
      power: fc.integer({ min: 0, max: 2_400 }).map((half) => half / 2),
      duration: fc.integer({ min: 1, max: 400 }),
      interval_count: fc.option(fc.integer({ min: 1, max: 6 })),
      rest: fc.option(
        fc.record({
          power_rest: fc.integer({ max: 900, min: 0 }),
          duration_rest: fc.integer({ min: 1, max: 90 }),
        }),
      ),
    })
    .map(({ rest, ...set }) => ({ ...set, ...(rest ?? { power_rest: null, duration_rest: null }) })),
  { minLength: 1, maxLength: 12 },
)

describe('a workout as a file', () => {
  it.each(['zwo', 'erg', 'mrc', 'fit'] as const)('has the watts of every second as .%s', (format) => {
    const property = fc.property(sets, fc.double({ min: 40, max: 500, noNaN: true }), (some, ftp) => {
      const workout = { ...WORKOUT, sets: some, ftp }
      const expected = wattsOf(workout)
      const { watts } = readBack(workout, format)
      expect(watts).toHaveLength(expected.length)
      expect(
        Math.max(...watts.map((power, i) => Math.abs(power - (expected[i] ?? Number.NaN)))),
      ).toBeLessThanOrEqual(EXACT[format] + 1e-9)
    })
    fc.assert(property, { numRuns: 60 })
  })

  // Less than half a second is no step.
  const quarters = fc.integer({ min: 2, max: 400 }).map((count) => count / 4)
  const fractions = fc.array(
    fc
      .record({
        duration: quarters,
        duration_rest: fc.option(quarters),
        interval_count: fc.integer({ min: 1, max: 9 }),
      })
      .map((set) => ({ ...steady('x', 200, 1), ...set, power_rest: 100 })),
    { minLength: 1, maxLength: 8 },
  )

  it('keeps its length in whole seconds, and each moment within half a second, in every format', () => {
    const eight = { ...WORKOUT, sets: [steady('x', 200, 10.5, 8)] }
    for (const format of ['zwo', 'erg', 'mrc', 'fit'] as const)
      expect(readBack(eight, format).watts, format).toHaveLength(84)
    const property = fc.property(fractions, (some) => {
      const workout = { ...WORKOUT, sets: some }
      const exactly = wattsOf({
        ...workout,
        sets: some.map((set) => ({
          ...{ ...set, duration: set.duration * 4 },
          duration_rest: set.duration_rest === null ? null : set.duration_rest * 4,
        })),
      })
      const files = (['zwo', 'erg', 'mrc', 'fit'] as const).map((format) => readBack(workout, format).watts)
      for (const watts of files) {
        expect(watts).toHaveLength(Math.round(exactly.length / 4))
        for (const [second, power] of watts.entries()) {
          const near = exactly.slice(Math.max(0, second * 4 - 2), second * 4 + 6)
          expect(near.some((exact) => Math.abs(exact - power) < 1)).toBe(true)
        }
      }
      const { seconds } = JSON.parse(contentOf(workout, 'json'))
      expect(seconds).toBe(files[0]?.length)
    })
    fc.assert(property, { numRuns: 60 })
  })

  it('keeps name, description and the names of its sets', () => {
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
        for (const format of ['zwo', 'erg', 'mrc', 'fit'] as const)
          expect(readBack(workout, format).watts).toHaveLength(10)
        for (const format of WORKOUT_FORMATS)
          expect(formatWorkout(workout, format)).toEqual(formatWorkout(workout, format))
      }),
      { numRuns: 200 },
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
  ])('says why there can be none of a workout with %s', (_, change, reason) => {
    for (const format of WORKOUT_FORMATS) {
      const formatted = formatWorkout({ ...WORKOUT, ...change }, format)
      expect(formatted).toHaveProperty('problem', expect.stringContaining(reason))
    }
  })

  it('has shares of FTP only where the FTP is known', () => {
    const workout = { ...WORKOUT, ftp: null }
    for (const format of ['zwo', 'mrc'] as const)
      expect(formatWorkout(workout, format)).toHaveProperty('problem', expect.stringContaining('FTP'))
    for (const format of ['erg', 'fit'] as const) expect(readBack(workout, format).watts).toHaveLength(1_196)
    expect(JSON.parse(contentOf(workout, 'json')).steps[0]).toMatchObject({ watts: 150.5, ftp_share: null })
  })
})
