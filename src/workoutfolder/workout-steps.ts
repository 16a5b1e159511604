import type { SavedWorkout } from '../store/training/workout-sets.ts'

/** A part of a workout of one power. */
export type Step = { name: string | null; seconds: number; watts: number }

type WorkoutSet = SavedWorkout['sets'][number]

/** A set as it is ridden: `count` times the work, each followed by the rest if it has one. */
type SetSteps = { count: number; work: Step; rest: Step | undefined }

/** More than a trainer's program reads, and far more than a person rides. */
const MOST_STEPS = 10_000
const LONGEST_S = 7 * 86_400
const MOST_WATTS = 10_000

/** Lists the steps of a workout in their order, without those that last no second; or says why it cannot be ridden. */
export function stepsOf({ path, sets }: SavedWorkout): { steps: Step[] } | { problem: string } {
  const parts = sets.map(stepsOfSet)
  const all = parts.flatMap(({ work, rest }) => (rest ? [work, rest] : [work]))
  if (!all.every(isPossible) || !parts.every(({ count }) => Number.isInteger(count) && count >= 0))
    return { problem: `workout ${path} has a set without a possible power, duration or count` }
  if (parts.reduce((sum, { count, rest }) => sum + count * (rest ? 2 : 1), 0) > MOST_STEPS)
    return { problem: `workout ${path} has more than ${MOST_STEPS} steps` }
  const steps = parts
    .flatMap(({ count, work, rest }) =>
      Array.from({ length: count }, () => (rest ? [work, rest] : [work])).flat(),
    )
    .filter(({ seconds }) => seconds > 0)
  if (steps.length === 0) return { problem: `workout ${path} has no steps` }
  if (steps.reduce((sum, { seconds }) => sum + seconds, 0) > LONGEST_S)
    return { problem: `workout ${path} is longer than a week` }
  return { steps }
}

/** Returns the steps of a set in whole seconds; NaN stands for a power or duration that the set lacks. */
export function stepsOfSet(set: WorkoutSet): SetSteps {
  const { name, power, duration, power_rest: powerRest, duration_rest: durationRest } = set
  const rest = { name: null, seconds: Math.round(durationRest ?? Number.NaN), watts: powerRest ?? Number.NaN }
  return {
    count: set.interval_count ?? 1,
    work: { name, seconds: Math.round(duration ?? Number.NaN), watts: power ?? Number.NaN },
    rest: powerRest === null || durationRest === null ? undefined : rest,
  }
}

function isPossible({ seconds, watts }: Step): boolean {
  return seconds >= 0 && watts >= 0 && seconds <= LONGEST_S && watts <= MOST_WATTS
}
