import { z } from 'zod'
import type { Drift } from './lenient.ts'
import {
  type BadItem,
  durationField,
  identityField,
  integerField,
  nameField,
  numberField,
  type Parsed,
  parseLenient,
  parseList,
  parseListAnswer,
  textField,
} from './lenient.ts'

// `updated_at`, `duration` and `interval_count` are not in the document's list entry, but in the service's answers.
const workoutEntrySchema = z.looseObject({
  path: identityField,
  name: nameField,
  description: textField,
  last_modified: numberField,
  updated_at: textField,
  duration: durationField,
  interval_count: integerField,
})

const workoutSetSchema = z.looseObject({
  name: nameField,
  index: integerField,
  power: numberField,
  duration: durationField,
  power_rest: numberField,
  duration_rest: durationField,
  interval_count: integerField,
})

const workoutSchema = z.looseObject({
  success: z.unknown().optional(),
  name: nameField,
  description: textField,
})

/**
 * An entry of a workout list (service document, "Workout list entry"). It has `last_modified` (Unix seconds) or
 * `updated_at` (`YYYY-MM-DD HH:MM:SS`, zone unknown); `duration` may be a text such as `00:59:20`.
 */
export type WireWorkoutEntry = z.infer<typeof workoutEntrySchema>

export type WireWorkoutList = { entries: WireWorkoutEntry[]; bad: BadItem[]; drift: Drift[] }

/** A set of similar intervals (service document, "Set entry"); watts, and seconds unless `duration` is a text. */
export type WireWorkoutSet = z.infer<typeof workoutSetSchema>

/** A workout resolved for the rider's signature (service document, "Workout definition"). */
export type WireWorkout = z.infer<typeof workoutSchema> & {
  workout: WireWorkoutSet[]
  bad: BadItem[]
  drift: Drift[]
}

/** Parses the answer of endpoints 5 and 6; fails only without a list. */
export function parseWorkoutList(wire: Record<string, unknown>): Parsed<WireWorkoutList> {
  return parseListAnswer(workoutEntrySchema, wire, 'workouts')
}

/** Parses the answer of endpoint 7; fails only without a list of sets. */
export function parseWorkout(wire: Record<string, unknown>): Parsed<WireWorkout> {
  const { workout: sent, ...rest } = wire
  const parsed = parseLenient(workoutSchema, rest)
  if (!parsed.ok) return parsed
  const sets = parseList(workoutSetSchema, sent, 'workout[]')
  if (!sets) return { ok: false, reason: 'workout is missing or not a list' }
  const drift = [...parsed.drift, ...sets.drift]
  return { ok: true, value: { ...parsed.value, workout: sets.entries, bad: sets.bad, drift }, drift }
}
