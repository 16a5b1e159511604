import type { PowerBest, PowerCurve } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { addUp, bestSum, powerSourceOf, spreadOverSeconds } from './by-second.ts'
import { makeRecorded, type Recorded } from './measures/recorded-seconds.ts'

/** About 60 durations: each second at first, then steps that grow with the duration. */
const DURATIONS_S: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180],
  ...[210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1_080, 1_200, 1_500, 1_800, 2_100, 2_400],
  ...[2_700, 3_000, 3_600, 4_500, 5_400, 6_300, 7_200, 9_000, 10_800, 12_600, 14_400, 18_000, 21_600, 25_200],
  ...[28_800, 36_000, 43_200],
]

/**
 * Computes the exact best mean power at each duration up to the activity's length by prefix sums on a one-second grid
 * built from the timestamps: a sample fills the seconds that it lasts, gaps of the recording count as zero watts, and of
 * several samples in one second the last one counts, whether it has power or not. Samples are in the order of time. Reads `p_raw` (power of each second) where the
 * activity has it, else `power`, and says which. Undefined without any power.
 */
export function normalizePowerCurve(
  samples: Samples,
  recorded: Recorded = makeRecorded(samples),
): PowerCurve | undefined {
  const source = powerSourceOf(samples)
  const watts = spreadOverSeconds(recorded.power, recorded)
  if (!watts) return undefined
  const sums = addUp(watts)
  const points: PowerBest[] = []
  let best = 0
  for (const durationS of [...DURATIONS_S.filter((duration) => duration < watts.length), watts.length]) {
    // Where no power is negative, a longer time has no smaller sum than a shorter one.
    best = bestSum(sums, { durationS, least: best })
    points.push({ durationS, watts: best / durationS })
  }
  return { source, points }
}
