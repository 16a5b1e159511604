import { hasValue } from '../../kit/floats.ts'
import type { Intensity, PowerSource } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

// Runs in the browser, too, where kit/time does not.
const MS_A_SECOND = 1_000
/** Samples further apart than this, s, are single values: each stands for its own second. */
const MAX_SPACING_S = 300

/**
 * How far apart the samples of a recording are, and how long each lasts. `spacingS`: the median distance between seconds with a
 * sample, s, 1 for nearly all recordings; `seconds`: the whole second of each sample, since 1970; `heldS`: seconds that a
 * sample lasts, 0 for one that a later one of its second replaces.
 */
type SampleSpacing = {
  readonly spacingS: number
  readonly seconds: Float64Array
  readonly heldS: Uint16Array
}

/**
 * Finds the spacing of samples in the order of time. A sample lasts until the next one when that is less than two spacings away,
 * else for one spacing, and a gap follows. So a gap of a recording of each second begins at its first missing second, and one of a
 * recording of every 5 s where a sample is missing.
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

/** Counts the distances between different seconds, and takes the one in the middle. */
function medianStep(seconds: Float64Array): number {
  const times = new Int32Array(MAX_SPACING_S + 2)
  let steps = 0
  for (let index = 1; index < seconds.length; index++) {
    const step = (seconds[index] as number) - (seconds[index - 1] as number)
    // A time that is not a number gives a step that is NaN.
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

/** Chooses the power for computations: of each second (`p_raw`) if present, else the mean of 5 s (`power`). */
export function powerSourceOf({
  columns,
  count,
}: {
  count: number
  columns: Pick<Samples['columns'], 'p_raw'>
}): PowerSource {
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}

/** Longer than any ride: timestamps further apart than this are a broken clock, and a grid would not fit in memory. */
export const MAX_ACTIVITY_S = 7 * 24 * 3_600

/**
 * Spreads values of recorded samples over the seconds from the first to the end of the last: a sample fills the seconds that it
 * lasts, and seconds without a value are 0, gaps of the recording too. Undefined without any value, and for times that no ride has.
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

/** Prefix sums of the values of seconds: element `n` is the sum of the first `n`. `growing`: no value is negative. */
export type Sums = { readonly sums: Float64Array; readonly growing: boolean }

// This loop and the one over the windows are separate functions, because V8 optimizes hot functions and not parts of them.
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

/** How many ends of a window are compared at once: more for longer windows. */
const strideOf = (duration: number) => Math.min(12, 2 + Math.floor(duration / 8))

/**
 * Computes the largest sum over a duration, s, in windows that begin at second `from` or later. Where no value is negative it is
 * `least` when that is more. -Infinity when there is no such window and nothing to begin with.
 */
export function bestSum(
  { sums, growing }: Sums,
  { durationS, from = 0, least }: { durationS: number; from?: number; least?: number },
): number {
  // Falling sums are compared one by one, because a shorter window does not limit a longer one.
  const stride = growing ? strideOf(durationS) : 1
  let best = (growing ? least : undefined) ?? Number.NEGATIVE_INFINITY
  // No window in a stride exceeds the sum over all its seconds, so most strides are skipped after one comparison.
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

/** The highest heart rate that is one, 1/min; sensors send 0 and 255 when they know none. */
const MAX_HR = 250

/** The samples of an activity that last, see makeRecorded. */
export type Recorded = Readonly<ReturnType<typeof makeRecorded>>

/**
 * Takes what curve and measures need out of samples: of several in one second only the last, in the order of time. The next one follows
 * without a gap when it is as many seconds later as one lasts. Power (of `p_raw` where the activity has it) is in W, heart rate (1 to 250)
 * and cadence in 1/min, height and distance in m. Numbers are rounded to float4 like those in `training.samples`, so that SQL over the
 * samples gives the same measures; NaN is unknown.
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
  // One loop over all columns: each would cost as much as this one.
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

/** Returns a number as `training.samples` holds it; an infinite one becomes NaN. */
function stored(value: number): number {
  const rounded = Math.fround(value)
  return rounded - rounded === 0 ? rounded : Number.NaN
}

/** Where zones 2 to 7 begin, in percent of threshold power: whole numbers, so that 110 W are 55 % of 200 W. */
const ZONE_STARTS = [55, 75, 90, 105, 120, 150] as const
/** From this percentage of the maximal power available on, a second counts as near it. */
const NEAR_MPA = 90
/** How long a heart rate must be reached without a break, s, to be the peak and not a spike of the sensor. */
const PEAK_HELD_S = 10

/**
 * Counts the seconds of an activity in each power zone of its threshold power (`ftp`, W; null when it is unknown), above it, near the
 * maximal power available, and at each heart rate. Samples are in the order of time; each counts for the seconds that it lasts, of several
 * in one second only the last, and gaps of the recording do not count. Power is `p_raw` where the activity has it, else `power`. Numbers
 * are rounded to float4 like those in `training.samples`, so that SQL over the samples gives the same counts. Undefined without samples.
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

// Zone 7 excludes its start, the others include theirs.
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
