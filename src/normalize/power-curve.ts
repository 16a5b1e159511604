import { hasValue } from '../kit/floats.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import type { PowerBest, PowerCurve, PowerSource } from '../store/samples/write-samples.ts'
import { measureSampleSpacing, type SampleSpacing, secondOf } from './sample-spacing.ts'

/** About 60 durations: each second at first, then steps that grow with the duration. */
const DURATIONS_S: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180],
  ...[210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1_080, 1_200, 1_500, 1_800, 2_100, 2_400],
  ...[2_700, 3_000, 3_600, 4_500, 5_400, 6_300, 7_200, 9_000, 10_800, 12_600, 14_400, 18_000, 21_600, 25_200],
  ...[28_800, 36_000, 43_200],
]
/** Longer than any ride: timestamps further apart than this are a broken clock, and a grid would not fit in memory. */
const LONGEST_S = 7 * 24 * 3_600

/** How many ends of a window are compared at once: more for longer windows. */
const strideOf = (duration: number) => Math.min(12, 2 + Math.floor(duration / 8))

/**
 * Computes the exact best mean power at each duration up to the activity's length by prefix sums on a one-second grid
 * built from the timestamps: a sample fills the seconds that it lasts, gaps of the recording count as zero watts, and of two
 * samples in one second the later one counts. Samples are in the order of time. Reads `p_raw` (power of each second) where the
 * activity has it, else `power`, and says which. Undefined without any power.
 */
export function normalizePowerCurve(
  samples: Samples,
  spacing: SampleSpacing = measureSampleSpacing(samples),
): PowerCurve | undefined {
  const source = powerSourceOf(samples)
  const watts = wattsBySecond(samples, samples.columns[source], spacing)
  if (!watts) return undefined
  const { sums, growing } = addUp(watts)
  const points: PowerBest[] = []
  let best = 0
  for (const durationS of [...DURATIONS_S.filter((duration) => duration < watts.length), watts.length]) {
    // Where no power is negative, a longer time has no smaller sum than a shorter one.
    best = growing
      ? bestSum(sums, { durationS, stride: strideOf(durationS), least: best })
      : bestSum(sums, { durationS, stride: 1, least: Number.NEGATIVE_INFINITY })
    points.push({ durationS, watts: best / durationS })
  }
  return { source, points }
}

// This loop and the one over the windows are separate functions, because V8 optimizes hot functions and not parts of them.
function addUp(watts: Float64Array): { sums: Float64Array; growing: boolean } {
  const sums = new Float64Array(watts.length + 1)
  let growing = true
  for (let second = 0; second < watts.length; second++) {
    const power = watts[second] as number
    if (power < 0) growing = false
    sums[second + 1] = (sums[second] as number) + power
  }
  return { sums, growing }
}

function wattsBySecond(
  samples: Samples,
  source: Float64Array,
  { spacingS, heldS }: SampleSpacing,
): Float64Array | undefined {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  let known = false
  for (let index = 0; index < samples.count; index++) {
    const second = secondOf(samples.t[index] as number)
    if (second < first) first = second
    if (second > last) last = second
    known ||= Number.isFinite(source[index])
  }
  const length = last - first + spacingS
  if (!known || length > LONGEST_S) return undefined
  const watts = new Float64Array(length)
  for (let index = 0; index < samples.count; index++) {
    const value = source[index] as number
    if (!Number.isFinite(value)) continue
    const second = secondOf(samples.t[index] as number) - first
    watts[second] = value
    for (let held = 1; held < (heldS[index] as number); held++) watts[second + held] = value
  }
  return watts
}

/**
 * Finds the largest sum over a duration, at least `least`. It compares `stride` ends at a time: where no power is negative,
 * the sum over all seconds of a stride is no less than any window's in it, so most strides are skipped after one comparison.
 */
function bestSum(
  sums: Float64Array,
  { durationS, stride, least }: { durationS: number; stride: number; least: number },
): number {
  let best = least
  for (let end = durationS; end < sums.length; end += stride) {
    const last = Math.min(end + stride, sums.length) - 1
    if ((sums[last] as number) - (sums[end - durationS] as number) <= best) continue
    for (let at = end; at <= last; at++) {
      const sum = (sums[at] as number) - (sums[at - durationS] as number)
      if (sum > best) best = sum
    }
  }
  return best
}

/** Chooses the power that curve and zones are computed from: that of each second (`p_raw`) if present, else the mean of 5 s (`power`). */
export function powerSourceOf({ columns, count }: Samples): PowerSource {
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}
