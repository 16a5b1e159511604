import { hasValue } from '../../kit/floats.ts'
import type { Intensity, PowerSource } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

// This file also runs in the browser, where kit/time does not.
const MS_A_SECOND = 1_000
/** Maximum spacing, s. Samples further apart are single values, and each stands for its own second. */
const MAX_SPACING_S = 300

/**
 * How far apart the samples of a recording are and how long each lasts. `spacingS`: the median seconds between samples, 1 for nearly all
 * recordings. `seconds`: the second of each sample, since 1970. `heldS`: how many seconds a sample lasts, 0 if a later sample of the same
 * second replaces it.
 */
type SampleSpacing = {
  readonly spacingS: number
  readonly seconds: Float64Array
  readonly heldS: Uint16Array
}

/**
 * Finds the spacing of samples in order of time. A sample lasts until the next sample if that is less than two spacings away; otherwise it
 * lasts one spacing and a gap follows. So a gap starts where the first sample is missing, whatever the spacing.
 */
export function measureSampleSpacing({ t, count }: Pick<Samples, 't' | 'count'>): SampleSpacing {
  const seconds = new Float64Array(count)
  for (let index = 0; index < count; index++) seconds[index] = Math.floor((t[index] as number) / MS_A_SECOND)
  const spacingS = medianStep(seconds)
  const heldS = new Uint16Array(count)
  for (let index = 0; index + 1 < count; index++) {
    const step = (seconds[index + 1] as number) - (seconds[index] as number)
    heldS[index] = step < 2 * spacingS ? step : spacingS
  }
  if (count > 0) heldS[count - 1] = spacingS
  return { spacingS, seconds, heldS }
}

/** Returns the median distance between samples of different seconds, s. */
function medianStep(seconds: Float64Array): number {
  const times = new Int32Array(MAX_SPACING_S + 2)
  let steps = 0
  for (let index = 1; index < seconds.length; index++) {
    const step = (seconds[index] as number) - (seconds[index - 1] as number)
    // The step is NaN if a time is not a number.
    if (!(step > 0)) continue
    const at = Math.min(step, MAX_SPACING_S + 1)
    times[at] = (times[at] as number) + 1
    steps++
  }
  let seen = 0
  for (let step = 1; step <= MAX_SPACING_S; step++) {
    seen += times[step] as number
    if (seen > 0 && seen * 2 >= steps) return step
  }
  return 1
}

/** Chooses the power column for computations: `p_raw` (of each second) if it has values, otherwise `power` (mean of 5 s). */
export function powerSourceOf({
  columns,
  count,
}: {
  count: number
  columns: Pick<Samples['columns'], 'p_raw'>
}): PowerSource {
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}

/** Maximum time span of an activity, s. A longer one means a broken clock, and its one-second grid would not fit in memory. */
export const MAX_ACTIVITY_S = 7 * 24 * 3_600

/**
 * Spreads the values of samples over a grid of seconds, from the first sample to the end of the last. A sample fills the seconds that it
 * lasts; seconds without a value are 0, including gaps. Undefined without values, or if the span exceeds MAX_ACTIVITY_S.
 */
export function spreadOverSeconds(values: Float64Array, { spacingS, seconds, heldS }: SampleSpacing) {
  const first = seconds[0] ?? Number.NaN
  const length = (seconds[seconds.length - 1] ?? Number.NaN) - first + spacingS
  if (!(length <= MAX_ACTIVITY_S) || !values.some((value) => Number.isFinite(value))) return undefined
  const spread = new Float64Array(length)
  for (let index = 0; index < seconds.length; index++) {
    const value = values[index] as number
    if (!Number.isFinite(value)) continue
    const second = (seconds[index] as number) - first
    spread[second] = value
    for (let held = 1; held < (heldS[index] as number); held++) spread[second + held] = value
  }
  return spread
}

/** Prefix sums of the values of seconds: element `n` is the sum of the first `n` values. `growing`: no value is negative. */
export type Sums = { readonly sums: Float64Array; readonly growing: boolean }

// This loop and the one in bestSum are separate functions, because V8 optimizes whole functions.
/** Computes the prefix sums of values of seconds. */
export function addUp(values: Float64Array): Sums {
  const sums = new Float64Array(values.length + 1)
  let growing = true
  for (let second = 0; second < values.length; second++) {
    const value = values[second] as number
    if (value < 0) growing = false
    sums[second + 1] = (sums[second] as number) + value
  }
  return { sums, growing }
}

/** How many window ends are compared at once: more for longer windows. */
const strideOf = (duration: number) => Math.min(12, 2 + Math.floor(duration / 8))

/**
 * Computes the largest sum over windows of a duration, s, that start at second `from` or later. If no value is negative, the result is at
 * least `least`. Returns -Infinity if there is no window and no `least`.
 */
export function bestSum(
  { sums, growing }: Sums,
  { durationS, from = 0, least }: { durationS: number; from?: number; least?: number },
): number {
  // Sums that may fall are compared one by one, because a shorter window does not bound a longer window.
  const stride = growing ? strideOf(durationS) : 1
  let best = (growing ? least : undefined) ?? Number.NEGATIVE_INFINITY
  // No window in a stride exceeds the sum over all seconds of the stride, so one comparison rules out most strides.
  for (let end = from + durationS; end < sums.length; end += stride) {
    const last = Math.min(end + stride, sums.length) - 1
    if ((sums[last] as number) - (sums[end - durationS] as number) <= best) continue
    for (let at = end; at <= last; at++) {
      const sum = (sums[at] as number) - (sums[at - durationS] as number)
      if (sum > best) best = sum
    }
  }
  return best
}

/** Maximum plausible heart rate, bpm. Sensors send 0 and 255 for unknown. */
const MAX_HR = 250

/** An activity's samples, without samples that were replaced; see makeRecorded. */
export type Recorded = Readonly<ReturnType<typeof makeRecorded>>

/**
 * Extracts the columns for the power curve and the measures, in order of time; of several samples in one second only the last is kept. A
 * sample follows the previous sample without a gap if it starts as many seconds later as the previous sample lasts. Power (`p_raw` if the
 * activity has it) is in W, heart rate (1 to 250) in bpm, cadence in rpm, height and distance in m; NaN is unknown. Numbers are rounded to
 * float4 as in `training.samples`, so that SQL over the samples gives the same measures.
 */
export function makeRecorded(
  samples: Pick<Samples, 't' | 'count'> & {
    readonly columns: Pick<Samples['columns'], 'power' | 'p_raw' | 'hr' | 'cad' | 'alt' | 'dist'>
  },
  { spacingS, seconds, heldS }: SampleSpacing = measureSampleSpacing(samples),
) {
  const { columns } = samples
  const source = columns[powerSourceOf(samples)]
  const values = () => new Float64Array(samples.count)
  const recorded = { seconds: values(), heldS: new Uint16Array(samples.count), power: values(), hr: values() }
  const [cad, alt, dist] = [values(), values(), values()]
  let count = 0
  // One loop fills all columns: a loop per column would take as long each.
  for (let index = 0; index < samples.count; index++) {
    const held = heldS[index] as number
    if (held === 0) continue
    const beats = stored(columns.hr[index] as number)
    recorded.seconds[count] = seconds[index] as number
    recorded.heldS[count] = held
    recorded.power[count] = stored(source[index] as number)
    recorded.hr[count] = beats >= 1 && beats < MAX_HR + 1 ? beats : Number.NaN
    cad[count] = stored(columns.cad[index] as number)
    alt[count] = stored(columns.alt[index] as number)
    dist[count] = stored(columns.dist[index] as number)
    count++
  }
  return {
    count,
    spacingS,
    seconds: recorded.seconds.subarray(0, count),
    heldS: recorded.heldS.subarray(0, count),
    power: recorded.power.subarray(0, count),
    hr: recorded.hr.subarray(0, count),
    cad: cad.subarray(0, count),
    alt: alt.subarray(0, count),
    dist: dist.subarray(0, count),
  }
}

/** Returns a number as `training.samples` stores it. An infinite number becomes NaN. */
function stored(value: number): number {
  const rounded = Math.fround(value)
  return rounded - rounded === 0 ? rounded : Number.NaN
}

/** Where power zones 2 to 7 start, in percent of threshold power: integers, so that 110 W are exactly 55 % of 200 W. */
const ZONE_STARTS = [55, 75, 90, 105, 120, 150] as const
/** Minimum percentage of the maximal power available at which a second counts as near it. */
const NEAR_MPA = 90
/** How long a heart rate must last without a gap to count as the peak, s. Shorter peaks may be spikes of the sensor. */
const PEAK_HELD_S = 10

/**
 * Counts the seconds of an activity in each zone of its threshold power (`ftp`, W; null if unknown), above it, near the maximal power
 * available, and at each heart rate. Samples are in order of time. Each counts for the seconds that it lasts; gaps do not count, and of
 * several samples in one second only the last does. Power is `p_raw` if the activity has it, otherwise `power`. Numbers are rounded to
 * float4 as in `training.samples`, so that SQL over the samples gives the same counts. Undefined without samples.
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
    sampleSpacingS: spacingS,
  }
}

function countPower(samples: Samples, heldS: Uint16Array, ftp: number | null) {
  const { mpa } = samples.columns
  const source = samples.columns[powerSourceOf(samples)]
  // A Float64Array, because V8 stores plain arrays of integers and of fractions differently and compiles for both.
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
  const [z1 = null, z2 = null, z3 = null, z4 = null, z5 = null, z6 = null, z7 = null] = counted ? zonesS : []
  return {
    ftp,
    powerZ1S: z1,
    powerZ2S: z2,
    powerZ3S: z3,
    powerZ4S: z4,
    powerZ5S: z5,
    powerZ6S: z6,
    powerZ7S: z7,
    aboveFtpS: counted ? aboveFtpS : null,
    nearMpaS: mpaKnown ? nearMpaS : null,
  }
}

// Zone 7 excludes its start; the other zones include theirs.
function zoneOf(power: number, starts: Float64Array): number {
  let zone = 0
  while (zone < 5 && power >= (starts[zone] as number)) zone++
  return zone === 5 && power > (starts[5] as number) ? 6 : zone
}

function countHeartRate(samples: Samples, { seconds, heldS }: SampleSpacing) {
  const { hr } = samples.columns
  const atLeastS = new Array<number>(MAX_HR).fill(0)
  const beatsAt = (index: number) => {
    const beats = Math.floor(Math.fround(hr[index] as number))
    return beats >= 1 && beats <= MAX_HR ? beats : 0
  }
  let [highest, peak] = [0, 0]
  for (let index = 0; index < samples.count; index++) {
    const beats = beatsAt(index)
    const held = heldS[index] as number
    if (beats === 0 || held === 0) continue
    atLeastS[beats - 1] = (atLeastS[beats - 1] as number) + held
    if (beats > highest) highest = beats
    let [lowest, end] = [beats, (seconds[index] as number) + held]
    // Extends the window while its lowest heart rate is above the peak so far, without a gap, up to 10 s.
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
