import { DateTime } from 'luxon'
import { isObject, parseJson } from '../kit/json.ts'
import type { WireWorkout, WireWorkoutEntry } from '../service/wire/wire-workouts.ts'
import type { ListedWorkout } from '../store/training/workout-lists.ts'
import type { WorkoutDefinition } from '../store/training/workout-sets.ts'
import { pickFields } from './pick-fields.ts'

/** Normalizes a workout list entry (service document, "Workout list entry"); `raw` is the entry as sent. */
export function normalizeWorkoutEntry(wire: WireWorkoutEntry, raw: unknown): ListedWorkout {
  return {
    path: wire.path,
    ...pickFields(wire, ['name', 'description']),
    lastModified: secondsToDate(wire.last_modified) ?? parseUpdatedAt(wire.updated_at) ?? null,
    raw,
  }
}

/**
 * Normalizes a workout definition (service document, "Workout definition"), its sets ("Set entry") to watts and seconds; `raw`
 * is the whole answer as it was sent.
 */
export function normalizeDefinition(wire: WireWorkout, raw: unknown): WorkoutDefinition {
  return {
    ...pickFields(wire, ['name', 'description']),
    raw,
    sets: wire.workout.map((set) => ({
      ...pickFields(set, ['name', 'index', 'power', 'power_rest', 'interval_count']),
      duration: secondsOf(set.duration),
      durationRest: secondsOf(set.duration_rest),
    })),
  }
}

/** Lists the entries of a workout list as they were sent, by path. */
export function rawEntriesByPath(body: Buffer): Map<string, unknown> {
  const wire = parseJson(body)
  // PHP writes an array with gaps as an object.
  const sent = isObject(wire) ? Object.values(wire.workouts ?? []) : []
  const hasPath = ({ path }: Record<string, unknown>) => typeof path === 'string' || typeof path === 'number'
  return new Map(
    sent
      .filter(isObject)
      .filter(hasPath)
      .map((entry) => [String(entry.path), entry]),
  )
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

/** Seconds of a number or of a clock such as `00:59:20`; null for any other text. */
function secondsOf(duration: number | string | null | undefined): number | null {
  if (typeof duration !== 'string') return duration ?? null
  const seconds = duration.split(':').reduce((total, part) => total * 60 + Number(part), 0)
  return Number.isNaN(seconds) ? null : seconds
}
