import { hasValue } from '../kit/floats.ts'
import type { Samples } from '../store/samples/samples.ts'

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = { durationS: number; watts: number }

const MS_A_SECOND = 1_000
/** About 60 durations: each second at first, then steps that grow with the duration. */
const DURATIONS_S: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180],
  ...[210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1_080, 1_200, 1_500, 1_800, 2_100, 2_400],
  ...[2_700, 3_000, 3_600, 4_500, 5_400, 6_300, 7_200, 9_000, 10_800, 12_600, 14_400, 18_000, 21_600, 25_200],
  ...[28_800, 36_000, 43_200],
]
/** Longer than any ride: timestamps further apart than this are a broken clock, and a grid would not fit in memory. */
const LONGEST_S = 7 * 24 * 3_600

/**
 * Computes the exact best mean power at each duration up to the activity's length by prefix sums on a one-second grid
 * built from the timestamps: seconds without a sample count as zero watts, of two samples in one second the later one
 * counts, order does not matter. Reads `p_raw` (power of each second) where the activity has it, else `power`.
 * Empty without any power.
 */
export function normalizePowerCurve(samples: Samples): PowerBest[] {
  const watts = wattsBySecond(samples)
  if (!watts) return []
  const sums = new Float64Array(watts.length + 1)
  for (let second = 0; second < watts.length; second++) {
    sums[second + 1] = (sums[second] as number) + (watts[second] as number)
  }
  const growing = watts.every((value) => value >= 0)
  const durations = DURATIONS_S.filter((duration) => duration < watts.length)
  return [...durations, watts.length].map((duration) => ({
    durationS: duration,
    watts: bestSum(sums, duration, growing ? 1 + Math.floor(duration / 8) : 1) / duration,
  }))
}

function wattsBySecond(samples: Samples): Float64Array | undefined {
  const { p_raw: raw, power } = samples.columns
  const source = hasValue(raw, samples.count) ? raw : power
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  let known = false
  for (let index = 0; index < samples.count; index++) {
    const second = Math.floor((samples.t[index] as number) / MS_A_SECOND)
    if (second < first) first = second
    if (second > last) last = second
    known ||= Number.isFinite(source[index])
  }
  const length = last - first + 1
  if (!known || length > LONGEST_S) return undefined
  const watts = new Float64Array(length)
  for (let index = 0; index < samples.count; index++) {
    const value = source[index] as number
    if (Number.isFinite(value)) watts[Math.floor((samples.t[index] as number) / MS_A_SECOND) - first] = value
  }
  return watts
}

/**
 * The largest sum over `duration` seconds, whose ends are gone through `stride` at a time: where no power is negative, the
 * sum over all the seconds of a stride is no less than any in it, so most strides are passed over with one look.
 */
function bestSum(sums: Float64Array, duration: number, stride: number): number {
  let best = Number.NEGATIVE_INFINITY
  for (let end = duration; end < sums.length; end += stride) {
    const last = Math.min(end + stride, sums.length) - 1
    if ((sums[last] as number) - (sums[end - duration] as number) <= best) continue
    for (let at = end; at <= last; at++) {
      const sum = (sums[at] as number) - (sums[at - duration] as number)
      if (sum > best) best = sum
    }
  }
  return best
}
