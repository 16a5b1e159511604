import { DateTime } from 'luxon'
import { makeRow } from '../fields/field.ts'
import { DEFINITION_FIELDS, WORKOUT_FIELDS, WORKOUT_SET_FIELDS } from '../fields/training-fields.ts'
import type { WireWorkout, WireWorkoutEntry } from '../service/wire/wire-workouts.ts'
import type { ListedWorkout } from '../store/training/workout-lists.ts'
import type { WorkoutDefinition } from '../store/training/workout-sets.ts'

/** Normalizes a workout list entry (service document, "Workout list entry"). */
export function normalizeWorkoutEntry(wire: WireWorkoutEntry): ListedWorkout {
  return {
    path: wire.path,
    ...makeRow(WORKOUT_FIELDS, wire),
    lastModified: secondsToDate(wire.lastModified) ?? parseUpdatedAt(wire.updatedAt) ?? null,
    raw: wire.raw,
  }
}

/** Normalizes a workout definition (service document, "Workout definition"); `raw` is the whole answer as it was sent. */
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
  // It has no zone; the service's other times without a zone are UTC.
  const date = DateTime.fromSQL(text.trim(), { zone: 'utc' })
  return date.isValid ? date.toJSDate() : undefined
}
