import { DAY } from '../../kit/time.ts'
import { makeReserve, type Signature, spendReserve } from './fitness-model.ts'

/** The target of a designed interval: a share of Threshold, Lower Threshold or Peak Power, or a drop of the available power. */
export type Target =
  | { of: 'ftp' | 'ltp' | 'pp'; share: number }
  | { of: 'mpa'; share: number; downTo: number }

/** An interval of the workout designer; `rest` has a share of Threshold Power. */
export type DesignedInterval = {
  name: string
  target: Target
  seconds: number
  count?: number
  rest?: { share: number; seconds: number }
}

export type Workout = {
  path: string
  name: string | null
  description: string
  /** ms since 1970 */
  modifiedMs: number
  intervals: DesignedInterval[]
  difficulty: number
  deleted: boolean
}

type Design = Pick<Workout, 'path' | 'name' | 'description' | 'difficulty' | 'intervals'>

const warmUp: DesignedInterval = { name: 'Warmup', target: { of: 'ltp', share: 0.7 }, seconds: 600 }
const coolDown: DesignedInterval = { name: 'Cooldown', target: { of: 'ltp', share: 0.55 }, seconds: 300 }

function intervals(target: Target, seconds: number, count: number, rest: [share: number, seconds: number]) {
  const block = { name: 'Intervals', target, seconds, count, rest: { share: rest[0], seconds: rest[1] } }
  return [warmUp, block, coolDown]
}

/** The default workouts, which every rider sees. */
export const DEFAULT_WORKOUTS: readonly Design[] = [
  {
    path: 'df0easyspin00001',
    name: 'Easy Spin',
    description: '',
    difficulty: 18,
    intervals: [warmUp, { name: 'Steady', target: { of: 'ltp', share: 0.8 }, seconds: 1_800 }, coolDown],
  },
  {
    path: 'df0threshold0002',
    name: 'Threshold 3×10',
    description: 'Three times ten minutes.\r\nStay seated.',
    difficulty: 74,
    intervals: intervals({ of: 'ftp', share: 0.98 }, 600, 3, [0.5, 300]),
  },
  {
    path: 'df0mpafade000003',
    name: 'MPA Fade',
    description: 'Each effort lasts until what is available has fallen.',
    difficulty: 112.5,
    intervals: intervals({ of: 'mpa', share: 1.2, downTo: 0.8 }, 240, 6, [0.45, 150]),
  },
  {
    path: 'df0peaksprint004',
    name: 'Peak Sprints',
    description: 'All out, then rest.',
    difficulty: 66,
    intervals: intervals({ of: 'pp', share: 0.9 }, 10, 8, [0.4, 230]),
  },
]

/** Each rider's own workouts. A second rider's paths begin differently. */
export const OWN_WORKOUTS: readonly Design[] = [
  {
    path: 'own0tempo0000001',
    name: 'Lunch Tempo',
    description: 'Deux blocs, sans s’arrêter — ça tient dans la pause.',
    difficulty: 58,
    intervals: intervals({ of: 'ftp', share: 0.88 }, 900, 2, [0.55, 240]),
  },
  {
    path: 'own0vo2max000002',
    name: '30/15 "hard" & short <3',
    description: '',
    difficulty: 96,
    intervals: intervals({ of: 'mpa', share: 1.25, downTo: 0.82 }, 180, 5, [0.5, 120]),
  },
  {
    path: 'own0untitled0003',
    name: null,
    description: '',
    difficulty: 41,
    intervals: [warmUp, { name: 'Steady', target: { of: 'ftp', share: 0.71 }, seconds: 1_200 }, coolDown],
  },
]

/** Makes workouts from designs: the first workout was changed at `newestMs`, and each further workout a day before the previous one. */
export function datedWorkouts(designs: readonly Design[], newestMs: number): Workout[] {
  return designs.map((design, i) => ({ ...design, modifiedMs: newestMs - i * DAY, deleted: false }))
}

/**
 * Resolves a workout for a signature (GET /oauth/workout/<path>) into its sets, in watts and seconds. An interval with a target of available
 * power ends when that power has dropped far enough, so its repetitions differ: they become several sets with the same name and index.
 */
export function resolveSets(workout: Workout, signature: Signature) {
  return workout.intervals.flatMap((interval, index) => {
    const { of, share } = interval.target
    const power = halfWatts(share * (of === 'mpa' ? signature.ftp : signature[of]))
    const common = { name: interval.name, index, power, ...restOf(interval, signature) }
    if (interval.target.of !== 'mpa') {
      return [{ ...common, duration: interval.seconds, interval_count: interval.count ?? 1 }]
    }
    return groupEqual(fadingSeconds(interval, interval.target, signature)).map(([duration, count]) => ({
      ...common,
      duration,
      interval_count: count,
    }))
  })
}

/** Rounds to half watts, as in recorded definitions. */
function halfWatts(watts: number): number {
  return Math.round(watts * 2) / 2
}

function restOf(interval: DesignedInterval, signature: Signature) {
  if (!interval.rest) return {}
  return {
    power_rest: halfWatts(interval.rest.share * signature.ftp),
    duration_rest: interval.rest.seconds,
  }
}

/** Returns the length of each repetition, in steps of five seconds, up to the designed length. */
function fadingSeconds(
  interval: DesignedInterval,
  target: { share: number; downTo: number },
  signature: Signature,
): number[] {
  const reserve = makeReserve(signature)
  return Array.from({ length: interval.count ?? 1 }, () => {
    let seconds = 0
    let available = signature.pp
    while (seconds < interval.seconds && available > target.downTo * signature.pp) {
      available = spendReserve(reserve, signature, target.share * signature.ftp, 5)
      seconds += 5
    }
    if (interval.rest) {
      spendReserve(reserve, signature, interval.rest.share * signature.ftp, interval.rest.seconds)
    }
    return Math.max(15, seconds)
  })
}

function groupEqual(numbers: number[]): Array<[value: number, count: number]> {
  const groups: Array<[number, number]> = []
  for (const value of numbers) {
    const last = groups.at(-1)
    if (last && last[0] === value) last[1]++
    else groups.push([value, 1])
  }
  return groups
}
