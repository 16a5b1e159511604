import { describe, expect, it } from 'vitest'
import { makeRow } from '../../../src/core/fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../../../src/core/fields/training-fields.ts'
import {
  normalizeActivity,
  normalizeDetail,
  normalizeListEntry,
  normalizePlace,
} from '../../../src/core/normalize/activity-answer.ts'
import { normalizeDefinition, normalizeWorkoutEntry } from '../../../src/core/normalize/training-rows.ts'
import { columnsOf, parseActivity, parseActivityList } from '../../../src/core/service/wire/wire-activity.ts'
import { parseTrainingInfo, parseWorkout } from '../../../src/core/service/wire/wire-workouts.ts'
import { unwrap } from '../../kit/parsed.ts'
import { makeSamplesOf } from '../../kit/samples.ts'
import { readWords } from '../../kit/table.ts'

const NO_SAMPLES = makeSamplesOf([])
const NOWHERE = normalizePlace(NO_SAMPLES)

/** The columns of a row whose value is not null: an undefined one leaves what the table holds. */
const notNull = (row: object) => Object.entries(row).filter(([, value]) => value !== null)

describe('a row', () => {
  it('has null for each field that is missing', () => {
    expect(notNull(normalizeDetail({}, NO_SAMPLES, NOWHERE))).toEqual([])
    expect(notNull(normalizeListEntry({ path: 'a' }))).toEqual([['path', 'a']])
    expect(notNull(normalizeWorkoutEntry({ path: 'a', raw: null }))).toEqual([['path', 'a']])
    const { sets, ...workout } = normalizeDefinition({ workout: [{}], bad: [] }, null)
    expect([notNull(workout), sets.map(notNull)]).toEqual([[], [[]]])
  })

  it('has each value that was sent in a column', () => {
    const number = counter()
    const numbers = (names: string) => Object.fromEntries(readWords(names).map((name) => [name, number()]))
    const loads = () => numbers('low high peak total')
    const info = {
      ...{ status: 'Fresh', weight: number(), source: 'account', tl: loads(), targetXSS: loads() },
      signature: numbers('ftp ltp hie pp'),
      wotd: { type: 'A', name: 'B', workoutId: 'C', description: 'D', difficulty: number(), url: 'E' },
    }
    expect(valuesOf(makeRow(TRAINING_INFO_FIELDS, unwrap(parseTrainingInfo(info))))).toEqual(valuesOf(info))
    const summary = {
      ...numbers('xss xlss xhss xpss xep mep tws sp sfd difficulty distance duration medal breakthrough'),
      ...numbers('total_grams_carbs total_grams_fat training_status'),
      ...{ focus: 'Climber', specificity: 'Pure', difficulty_rating: 'Hard', freshness: 'Red' },
      ...{ street_view: 'F', activity_map: 'G', chart_view: 'H' },
      sig: numbers('ftp atc pp'),
      prev_sig: numbers('ftp atc pp ltp'),
      session: numbers('max_power avg_power max_cadence total_elevation_gain total_calories'),
      progression: { ...{ tl: numbers('ftp hie pp'), date: 'I', form: number() }, rl: numbers('ftp hie pp') },
    }
    const detail = unwrap(parseActivity({ summary }))
    expect(valuesOf(normalizeDetail(detail, NO_SAMPLES, NOWHERE))).toEqual(valuesOf(summary))
    const set = { name: 'J', index: number(), power: number(), duration: number() }
    const rest = { power_rest: number(), duration_rest: number(), interval_count: number() }
    const wire = { name: 'K', description: 'L', workout: [{ ...set, ...rest }] }
    expect(valuesOf(normalizeDefinition(unwrap(parseWorkout(wire)), null))).toEqual(valuesOf(wire))
    const entry = { path: 'a', name: 'M', description: 'N', activity_type: 'Cycling' }
    const [listed] = unwrap(parseActivityList({ activities: [entry] })).entries
    expect(listed && valuesOf(normalizeListEntry(listed))).toEqual(valuesOf(entry))
  })

  it('keeps columns of the list that the answer lacks, and has the time from the first to the last sample', () => {
    const row = normalizeDetail({}, makeSamplesOf([{}, { at: 90 }]), NOWHERE)
    expect(row.elapsedS).toBe(90)
    for (const name of ['name', 'description', 'activityType', 'startedAt'])
      expect(row).not.toHaveProperty(name)
    const cleared = normalizeDetail({ name: null, description: null }, NO_SAMPLES, NOWHERE)
    expect(cleared).toHaveProperty('description', null)
    expect(cleared).not.toHaveProperty('name')
  })
})

describe('an activity', () => {
  it('without samples and summary has no rows of them and no threshold power', () => {
    const { derived, drift, lost } = normalizeActivity({ drift: [] })
    expect(derived).toMatchObject({ summary: null, samples: { count: 0 }, sampleExtras: [], place: NOWHERE })
    expect([derived.powerCurve, derived.intensity, derived.measures]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect({ drift, lost }).toEqual({ drift: [], lost: { values: 0, samples: 0 } })
  })

  it('without a signature has the measures that need none', () => {
    const session_data = columnsOf([{ unix_time: 1_000, power: 100 }]) ?? null
    const { intensity, measures } = normalizeActivity({ session_data, drift: [] }).derived
    expect(intensity).toMatchObject({ ftp: null, powerZ1S: null, powerZ7S: null, aboveFtpS: null })
    expect(measures).toMatchObject({ meanPower: 100, intensity: null })
  })
})

function counter(): () => number {
  let last = 0
  return () => ++last
}

/** All values of an object and of those in it that are not null, sorted. */
function valuesOf(value: unknown): string[] {
  if (value === null || value === undefined) return []
  return typeof value === 'object'
    ? Object.values(value).flatMap(valuesOf).sort()
    : [`${typeof value} ${value}`]
}
