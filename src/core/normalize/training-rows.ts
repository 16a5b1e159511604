import { DateTime } from 'luxon'
import { makeRow } from '../fields/field.ts'
import { DEFINITION_FIELDS, WORKOUT_FIELDS, WORKOUT_SET_FIELDS } from '../fields/training-fields.ts'
import type { WireWorkout, WireWorkoutEntry } from '../service/wire/wire-workouts.ts'
import type { ListedWorkout, WorkoutDefinition } from '../store/workout-rows.ts'

/** Normalizes a workout list entry (service document, "Workout list entry"). */
export function normalizeWorkoutEntry(wire: WireWorkoutEntry): ListedWorkout {
  return {
    path: wire.path,
    ...makeRow(WORKOUT_FIELDS, wire),
    lastModified: secondsToDate(wire.lastModified) ?? parseUpdatedAt(wire.updatedAt) ?? null,
    raw: wire.raw,
  }
}

/** Normalizes a workout definition (service document, "Workout definition"). `raw` is the whole response as sent. */
export function normalizeDefinition(wire: WireWorkout, raw: unknown): WorkoutDefinition {
  return {
    ...makeRow(DEFINITION_FIELDS, wire),
    raw,
    sets: wire.workout.map((set) => makeRow(WORKOUT_SET_FIELDS, set)),
  }
}

function secondsToDate(seconds: number | null | undefined): Date | undefined {
  if (seconds == null) return undefined
  const date = DateTime.fromSeconds(seconds, { zone: 'utc' })
  return date.isValid && date.year > 0 && date.year < 10_000 ? date.toJSDate() : undefined
}

function parseUpdatedAt(text: string | null | undefined): Date | undefined {
  if (text == null) return undefined
  // The text has no zone. Other times of the service without a zone are UTC.
  const date = DateTime.fromSQL(text.trim(), { zone: 'utc' })
  return date.isValid ? date.toJSDate() : undefined
}

/** The signature of a rider in training info; null if a field is missing. */
export type Signature = Readonly<Record<'ftp' | 'ltp' | 'hie' | 'pp', number | null>>

/** Largest difference at which two numbers count as equal: half of the last digit shown. Loads and signature decay a little every second. */
const SAME_WITHIN: ReadonlyArray<readonly [path: RegExp, within: number]> = [
  [/^signature\.hie$/, 0.005], // kJ
  [/^signature\./, 0.05], // W
  [/^(tl|targetXSS)\./, 0.05], // XSS, XSS per day
]

/** Fields that differ between responses without a change of the rider: the outcome, and a URL that may be signed. */
const VOLATILE: ReadonlySet<string> = new Set(['success', 'wotd.url'])

/** Reports whether two training infos, or parts of training infos, are the same. The order of keys and tiny differences of numbers do not matter. */
export function isSameTrainingInfo(before: unknown, now: unknown): boolean {
  return isSame(before, now, '')
}

/** Reports whether two signatures look the same to a person. */
export function isSameSignature(before: unknown, now: unknown): boolean {
  return isSame(before, now, 'signature')
}

function isSame(a: unknown, b: unknown, path: string): boolean {
  if (VOLATILE.has(path)) return true
  if (isParent(a) && isParent(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...keys].every((key) => isSame(a[key], b[key], path === '' ? key : `${path}.${key}`))
  }
  const within = SAME_WITHIN.find(([pattern]) => pattern.test(path))?.[1]
  const [left, right] = [numberOf(a), numberOf(b)]
  if (within !== undefined && left !== undefined && right !== undefined) {
    return Math.abs(left - right) <= within
  }
  // A missing value and null are the same.
  return (a ?? null) === (b ?? null)
}

function isParent(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isNaN(number) ? undefined : number
}
