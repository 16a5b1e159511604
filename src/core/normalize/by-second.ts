import { hasValue } from '../../kit/floats.ts'
import type { PowerSource } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

// Runs in the browser, too, where kit/time does not.
const MS_A_SECOND = 1_000
/** Samples further apart than this, s, are single values: each stands for its own second. */
const WIDEST_S = 300

/**
 * How far apart the samples of a recording are, and how long each lasts. `spacingS`: the median distance between seconds with a
 * sample, s, 1 for nearly all recordings; `seconds`: the whole second of each sample, since 1970; `heldS`: seconds that a
 * sample lasts, 0 for one that a later one of its second replaces.
 */
export type SampleSpacing = {
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
  const times = new Int32Array(WIDEST_S + 2)
  let steps = 0
  for (let index = 1; index < seconds.length; index++) {
    const step = (seconds[index] as number) - (seconds[index - 1] as number)
    // A time that is not a number gives a step that is NaN.
    if (!(step > 0)) continue
    const at = Math.min(step, WIDEST_S + 1)
    times[at] = (times[at] as number) + 1
    steps++
  }
  let seen = 0
  for (let step = 1; step <= WIDEST_S; step++) {
    seen += times[step] as number
    if (seen > 0 && seen * 2 >= steps) return step
  }
  return 1
}

/** Chooses the power for computations: of each second (`p_raw`) if present, else the mean of 5 s (`power`). */
export function powerSourceOf(samples: {
  count: number
  columns: Pick<Samples['columns'], 'p_raw'>
}): PowerSource {
  const { columns, count } = samples
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}

/** Longer than any ride: timestamps further apart than this are a broken clock, and a grid would not fit in memory. */
export const LONGEST_S = 7 * 24 * 3_600

/**
 * Spreads values of recorded samples over the seconds from the first to the end of the last: a sample fills the seconds that it
 * lasts, and seconds without a value are 0, gaps of the recording too. Undefined without any value, and for times that no ride has.
 */
export function spreadOverSeconds(values: Float64Array, { spacingS, seconds, heldS }: SampleSpacing) {
  const first = seconds[0] ?? Number.NaN
  const length = (seconds[seconds.length - 1] ?? Number.NaN) - first + spacingS
  if (!(length <= LONGEST_S) || !values.some((value) => Number.isFinite(value))) return undefined
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
/** Adds the values of seconds up. */
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
export const HIGHEST_HR = 250

/**
 * The samples of an activity that last: of several in one second only the last, in the order of time. Numbers are rounded to float4
 * like those in `training.samples`, so that SQL over the samples gives the same measures; NaN is unknown.
 */
export type Recorded = SampleSpacing &
  Readonly<{
    count: number
    /** W, from `p_raw` where the activity has it, else `power` */
    power: Float64Array
    /** 1/min, from 1 to 250 */
    hr: Float64Array
    /** 1/min */
    cad: Float64Array
    /** m */
    alt: Float64Array
    /** m */
    dist: Float64Array
  }>

/** Samples with the columns that are measured. */
type Measured = Pick<Samples, 't' | 'count'> & {
  readonly columns: Pick<Samples['columns'], 'power' | 'p_raw' | 'hr' | 'cad' | 'alt' | 'dist'>
}

/**
 * Takes what curve and measures need out of samples. The next one follows without a gap when it is as many seconds later as one
 * lasts.
 */
export function makeRecorded(
  samples: Measured,
  { spacingS, seconds, heldS }: SampleSpacing = measureSampleSpacing(samples),
): Recorded {
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
    recorded.hr[count] = beats >= 1 && beats < HIGHEST_HR + 1 ? beats : Number.NaN
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
