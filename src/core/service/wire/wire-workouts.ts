import type { Values } from '../../fields/field.ts'
import {
  DEFINITION_FIELDS,
  TRAINING_INFO_FIELDS,
  WORKOUT_ENTRY_FIELDS,
  WORKOUT_SET_FIELDS,
} from '../../fields/training-fields.ts'
import {
  ANSWER,
  type BadItem,
  type List,
  makeParser,
  type Parsed,
  parseList,
  parseListAnswer,
  type WithDrift,
} from './lenient.ts'

/** An entry of a workout list (service document, "Workout list entry"); `raw` is the entry as sent. */
export type WireWorkoutEntry = Values<typeof WORKOUT_ENTRY_FIELDS> & { raw: unknown }

export type WireWorkoutList = List<WireWorkoutEntry> & WithDrift

const parseFields = makeParser(WORKOUT_ENTRY_FIELDS)

function parseEntry(wire: unknown, prefix?: string): Parsed<WireWorkoutEntry> {
  const parsed = parseFields(wire, prefix)
  return parsed.ok ? { ...parsed, value: { ...parsed.value, raw: wire } } : parsed
}

/** Parses a response of endpoint 5 or 6. Fails only if it has no list. */
export function parseWorkoutList(wire: Record<string, unknown>) {
  return parseListAnswer(parseEntry, wire, 'workouts')
}

/** A workout resolved for the rider's signature (service document, "Workout definition"), with its sets in watts and seconds. */
export type WireWorkout = Values<typeof DEFINITION_FIELDS> & {
  workout: Array<Values<typeof WORKOUT_SET_FIELDS>>
  bad: BadItem[]
}

const parseDefinition = makeParser({ ...ANSWER, ...DEFINITION_FIELDS })
const parseSet = makeParser(WORKOUT_SET_FIELDS)

/** Parses a response of endpoint 7. Fails only if it has no list of sets. */
export function parseWorkout(wire: Record<string, unknown>): Parsed<WireWorkout> {
  const { workout: _sets, ...rest } = wire
  const parsed = parseDefinition(rest)
  const sets = parseList(parseSet, wire, 'workout')
  if (!parsed.ok) return parsed
  if (!sets.ok) return sets
  const { entries: workout, bad } = sets.value
  return { ok: true, value: { ...parsed.value, workout, bad }, drift: [...parsed.drift, ...sets.drift] }
}

/** Parses a response of endpoint 3: signature, status, loads and workout of the day (service document, "Training info"). */
export const parseTrainingInfo = makeParser({ ...ANSWER, ...TRAINING_INFO_FIELDS })
