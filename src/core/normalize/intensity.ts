import type { Intensity } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { HIGHEST_HR, measureSampleSpacing, powerSourceOf, type SampleSpacing } from './by-second.ts'

/** Where zones 2 to 7 begin, in percent of threshold power: whole numbers, so that 110 W are 55 % of 200 W. */
const ZONE_STARTS = [55, 75, 90, 105, 120, 150] as const
/** From this percentage of the maximal power available on, a second counts as near it. */
const NEAR_MPA = 90
/** How long a heart rate must be reached without a break, s, to be the peak and not a spike of the sensor. */
const PEAK_HELD_S = 10

/**
 * Counts the seconds of an activity in each power zone of its threshold power (`ftp`, W; null when it is unknown), above it,
 * near the maximal power available, and at each heart rate. Samples are in the order of time; each counts for the seconds that it
 * lasts, of several in one second only the last, and gaps of the recording do not count. Power is `p_raw` where the activity has
 * it, else `power`. Numbers are rounded to float4 like those in `training.samples`, so that SQL over the samples gives the same
 * counts. Undefined without samples.
 */
export function normalizeIntensity(
  samples: Samples,
  ftp: number | null,
  spacing: SampleSpacing = measureSampleSpacing(samples),
): Intensity | undefined {
  if (samples.count === 0) return undefined
  const { spacingS, heldS } = spacing
  return {
    ...countPower(samples, heldS, ftp !== null && ftp > 0 ? ftp : null),
    ...countHeartRate(samples, spacing),
    spacingS,
  }
}

function countPower(samples: Samples, heldS: Uint16Array, ftp: number | null) {
  const { mpa } = samples.columns
  const source = samples.columns[powerSourceOf(samples)]
  // A Float64Array, because a plain array has one of two kinds, by whether its numbers are whole, and V8 compiles for both.
  const starts = Float64Array.from(ZONE_STARTS, (percent) => percent * (ftp ?? Number.NaN))
  const zonesS = [0, 0, 0, 0, 0, 0, 0]
  let aboveFtpS = 0
  let nearMpaS = 0
  let known = false
  let mpaKnown = false
  for (let index = 0; index < samples.count; index++) {
    const watts = Math.fround(source[index] as number)
    const seconds = heldS[index] as number
    if (!Number.isFinite(watts) || seconds === 0) continue
    known = true
    const zone = zoneOf(watts * 100, starts)
    zonesS[zone] = (zonesS[zone] as number) + seconds
    if (ftp !== null && watts > ftp) aboveFtpS += seconds
    const available = Math.fround(mpa[index] as number)
    if (!(available > 0 && Number.isFinite(available))) continue
    mpaKnown = true
    if (watts * 100 >= available * NEAR_MPA) nearMpaS += seconds
  }
  const counted = known && ftp !== null
  return {
    ftp,
    powerZonesS: counted ? zonesS : null,
    aboveFtpS: counted ? aboveFtpS : null,
    nearMpaS: mpaKnown ? nearMpaS : null,
  }
}

// Zone 7 excludes its start, the others include theirs.
function zoneOf(power: number, starts: Float64Array): number {
  let zone = 0
  while (zone < 5 && power >= (starts[zone] as number)) zone++
  return zone === 5 && power > (starts[5] as number) ? 6 : zone
}

function countHeartRate(samples: Samples, { seconds, heldS }: SampleSpacing) {
  const { hr } = samples.columns
  const atLeastS = new Array<number>(HIGHEST_HR).fill(0)
  const beatsAt = (index: number) => {
    const beats = Math.floor(Math.fround(hr[index] as number))
    return beats >= 1 && beats <= HIGHEST_HR ? beats : 0
  }
  let [highest, peak] = [0, 0]
  for (let index = 0; index < samples.count; index++) {
    const beats = beatsAt(index)
    const held = heldS[index] as number
    if (beats === 0 || held === 0) continue
    atLeastS[beats - 1] = (atLeastS[beats - 1] as number) + held
    if (beats > highest) highest = beats
    let [lowest, end] = [beats, (seconds[index] as number) + held]
    // From here on, as long as it is more than the peak so far, the next sample begins where one ends, and 10 s are not full.
    for (let next = index + 1; lowest > peak; next++) {
      if (end - (seconds[index] as number) >= PEAK_HELD_S) peak = lowest
      else if (seconds[next] !== end) break
      else if (heldS[next] !== 0) {
        lowest = Math.min(lowest, beatsAt(next))
        end += heldS[next] as number
      }
    }
  }
  if (highest === 0) return { hrPeak: null, hrAtLeastS: null }
  for (let beats = highest - 1; beats >= 1; beats--)
    atLeastS[beats - 1] = (atLeastS[beats - 1] as number) + (atLeastS[beats] as number)
  return { hrPeak: peak || null, hrAtLeastS: atLeastS.slice(0, highest) }
}
