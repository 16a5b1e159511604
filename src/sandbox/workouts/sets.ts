import { makeReserve, type Signature, spendReserve } from '../athlete/signature.ts'
import type { DesignedInterval, Target, Workout } from './designs.ts'

/** A set entry of a workout definition: watts and seconds. */
export type WorkoutSet = {
  name: string
  index: number
  power: number
  duration: number
  power_rest?: number
  duration_rest?: number
  interval_count: number
}

/**
 * Resolves a workout for a signature (GET /oauth/workout/<path>). An interval aimed at what is available ends when it
 * has fallen far enough, so its repetitions differ: it comes out as several sets with the same name and index.
 */
export function resolveSets(workout: Workout, signature: Signature): WorkoutSet[] {
  return workout.intervals.flatMap((interval, index) => {
    const power = halfWatts(targetWatts(interval.target, signature))
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

/** Recorded definitions have watts such as 146.5. */
function halfWatts(watts: number): number {
  return Math.round(watts * 2) / 2
}

function targetWatts(target: Target, signature: Signature): number {
  return target.share * (target.of === 'mpa' ? signature.ftp : signature[target.of])
}

function restOf(interval: DesignedInterval, signature: Signature) {
  if (!interval.rest) return {}
  return {
    power_rest: halfWatts(interval.rest.share * signature.ftp),
    duration_rest: interval.rest.seconds,
  }
}

/** How long each repetition lasts, in fives of seconds, never longer than designed. */
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
