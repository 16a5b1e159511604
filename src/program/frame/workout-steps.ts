import type { SavedWorkout } from '../../core/store/workout-rows.ts'

/** A part of a workout with constant power. */
export type Step = { name: string | null; seconds: number; watts: number }

type WorkoutSet = SavedWorkout['sets'][number]

/** A set or a part of it: `count` repetitions of the work, each followed by the rest if there is one. */
export type Repeated = { count: number; work: Step; rest: Step | undefined }

/** Maximum number of steps of a workout: more than any trainer's program reads. */
const MAX_STEPS = 10_000
const LONGEST_S = 7 * 86_400
const MAX_WATTS = 10_000

/** Returns the steps of a workout in order, without empty steps, and its sets, all in whole seconds; or `problem`, why it cannot be ridden. */
export function stepsOf({
  path,
  sets,
}: SavedWorkout): { steps: Step[]; sets: Repeated[] } | { problem: string } {
  const exact = sets.map(exactSet)
  const all = exact.flatMap(({ work, rest }) => (rest ? [work, rest] : [work]))
  if (!all.every(isPossible) || !exact.every(({ count }) => Number.isInteger(count) && count >= 0))
    return { problem: `workout ${path} has a set without a possible power, duration or count` }
  if (exact.reduce((sum, { count, rest }) => sum + count * (rest ? 2 : 1), 0) > MAX_STEPS)
    return { problem: `workout ${path} has more than ${MAX_STEPS} steps` }
  const whole = roundSets(exact)
  const steps = whole
    .flatMap(({ count, work, rest }) =>
      Array.from({ length: count }, () => (rest ? [work, rest] : [work])).flat(),
    )
    .filter(({ seconds }) => seconds > 0)
  if (steps.length === 0) return { problem: `workout ${path} has no steps` }
  if (steps.reduce((sum, { seconds }) => sum + seconds, 0) > LONGEST_S)
    return { problem: `workout ${path} is longer than a week` }
  return { steps, sets: whole }
}

/** Returns a set before rounding; NaN stands for a missing power or duration. */
function exactSet(set: WorkoutSet): Repeated {
  const { name, power, duration, power_rest: powerRest, duration_rest: durationRest } = set
  const rest = { name: null, seconds: durationRest ?? Number.NaN, watts: powerRest ?? Number.NaN }
  return {
    count: set.interval_count ?? 1,
    work: { name, seconds: duration ?? Number.NaN, watts: power ?? Number.NaN },
    rest: powerRest === null || durationRest === null ? undefined : rest,
  }
}

/**
 * Rounds the end of each step, not its length, so that the workout keeps its length and each step ends within half a second of its exact
 * end. Repetitions that then differ in seconds become separate sets.
 */
function roundSets(sets: readonly Repeated[]): Repeated[] {
  let [exactEnd, end] = [0, 0]
  const round = (step: Step): Step => {
    exactEnd += step.seconds
    const seconds = Math.round(exactEnd) - end
    end += seconds
    return { ...step, seconds }
  }
  return sets.flatMap(({ count, ...set }) => {
    const parts: Repeated[] = []
    for (let i = 0; i < count; i++) {
      const work = round(set.work)
      const rest = set.rest && round(set.rest)
      const last = parts.at(-1)
      if (last && last.work.seconds === work.seconds && last.rest?.seconds === rest?.seconds) last.count++
      else parts.push({ count: 1, work, rest })
    }
    return parts
  })
}

function isPossible({ seconds, watts }: Step): boolean {
  return seconds >= 0 && watts >= 0 && seconds <= LONGEST_S && watts <= MAX_WATTS
}

/** Makes the lines of a list of workouts: the rider's own first, then by name and path. */
export function makeWorkoutLines(workouts: readonly SavedWorkout[]) {
  const keyOf = ({ name, path }: SavedWorkout) => `${name ?? ''}\n${path}`
  return workouts
    .toSorted((a, b) => Number(b.isOwn) - Number(a.isOwn) || keyOf(a).localeCompare(keyOf(b), 'en'))
    .map((workout) => {
      const listed = stepsOf(workout)
      return {
        name: workout.name,
        path: workout.path,
        list: workout.isOwn ? 'own' : 'default',
        /** s; null if unknown */
        seconds: 'problem' in listed ? null : listed.steps.reduce((sum, { seconds }) => sum + seconds, 0),
        ftp: workout.ftp,
        resolved_at: workout.resolvedAt,
        /** why the workout cannot be written as a file */
        problem: 'problem' in listed ? listed.problem : null,
      }
    })
}
