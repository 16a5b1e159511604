import { makeRecorded, measureSampleSpacing } from '../../../../core/normalize/by-second.ts'
import { measureEffort, totalOf } from '../../../../core/normalize/measures.ts'
import type { Sent } from '../../shared/sent.ts'
import type { findSampleColumns } from './plotted-samples.ts'

export type Samples = Sent<typeof findSampleColumns>
export type Column = ReadonlyArray<number | null>

/** Longest gap that is not a pause in a recording with a sample each second, s. */
const PAUSE_S = 10
/** Number of samples on each side over which the speed is averaged, because distances are rounded. */
const SPEED_REACH = 2
const MPS_TO_KMH = 3.6

/** The numbers of a section of an activity, derived from the samples; null if nothing was recorded. */
export type Summary = ReturnType<typeof summarize>

/** Returns the unsmoothed power if available, as for power curves and zones. */
export function wattsOf({ p_raw: raw, power }: Samples): Column {
  return raw.length > 0 ? raw : power
}

/** Computes the longest gap between samples that is not a pause, s. */
export function pauseOf(at: readonly number[]): number {
  const steps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0))
  const usual = steps.sort((a, b) => a - b)[steps.length >> 1] ?? 1
  return Math.max(PAUSE_S, 2 * usual)
}

/** Computes the speed at each sample, km/h, from the distance; returns an empty list if no distance was recorded. */
export function speedsOf({ dist, elapsed_s: at }: Samples): Array<number | null> {
  const pause = pauseOf(at)
  return dist.map((_, index) => {
    let from = index
    let to = index
    while (to < index + SPEED_REACH && (at[to + 1] ?? Infinity) - (at[to] ?? 0) <= pause) to++
    while (from > index - SPEED_REACH && (at[from] ?? 0) - (at[from - 1] ?? -Infinity) <= pause) from--
    const [begin, end] = [dist[from], dist[to]]
    const took = (at[to] ?? 0) - (at[from] ?? 0)
    if (begin === null || end === null || begin === undefined || end === undefined) return null
    return took <= 0 || end < begin ? null : ((end - begin) / took) * MPS_TO_KMH
  })
}

/**
 * Returns a function that extracts the input of the measures from the samples, from index `begin` up to but not including `end`. A section
 * gives each sample the same duration, and power the same source, as the whole activity.
 */
export function makeCuts(samples: Samples) {
  const t = Float64Array.from(samples.elapsed_s, (moment) => moment * 1_000)
  const { spacingS, seconds, heldS } = measureSampleSpacing({ t, count: t.length })
  return (begin: number, end: number) => {
    const count = end - begin
    const floats = (column: Column) =>
      Float64Array.from({ length: count }, (_, index) => column[begin + index] ?? Number.NaN)
    const { hr, cad, alt, dist } = samples
    const columns = {
      ...{ power: floats(wattsOf(samples)), p_raw: floats([]), hr: floats(hr) },
      ...{ cad: floats(cad), alt: floats(alt), dist: floats(dist) },
    }
    const spacing = { spacingS, seconds: seconds.subarray(begin, end), heldS: heldS.subarray(begin, end) }
    return makeRecorded({ count, t: t.subarray(begin, end), columns }, spacing)
  }
}

/** Summarizes the samples from index `begin` up to but not including `end`, with the measures of training.ride_measures. */
export function summarize(samples: Samples, begin = 0, end = samples.elapsed_s.length) {
  const cut = (column: Column) => column.slice(begin, end)
  const at = samples.elapsed_s.slice(begin, end)
  const recorded = makeCuts(samples)(begin, end)
  const meanOf = (values: Float64Array) => totalOf(recorded, values).mean
  const ridden = measureEffort(recorded)
  const speed = meanOf(ridden.speed)
  const known = cut(samples.dist).filter((value) => value !== null)
  return {
    elapsed_s: (at.at(-1) ?? 0) - (at[0] ?? 0),
    /** recorded time without pauses */
    recorded_s: recorded.heldS.reduce((sum, held) => sum + held, 0),
    moving_s: ridden.movingS,
    distance_m: known.length < 2 ? null : (known.at(-1) ?? 0) - (known[0] ?? 0),
    climbed_m: ridden.ascentM,
    power: { ...spreadOf(cut(wattsOf(samples))), mean: ridden.meanPower },
    mpa: spreadOf(cut(samples.mpa)),
    hr: { ...spreadOf(cut(samples.hr)), mean: meanOf(recorded.hr) },
    cad: { ...spreadOf(cut(samples.cad)), mean: meanOf(recorded.cad) },
    speed_kmh: {
      ...spreadOf(cut(speedsOf(samples))),
      mean: speed === null ? null : speed * MPS_TO_KMH,
    },
    work_kj: ridden.workKj,
    weighted_w: ridden.weightedPower,
  }
}

/**
 * Computes the mean and the extremes of a column; null if the column has no values. Uses a loop, because Math.max limits the number of
 * arguments.
 */
export function spreadOf(column: Column) {
  let [sum, count] = [0, 0]
  let highest: number | null = null
  let lowest: number | null = null
  for (const value of column) {
    if (value === null) continue
    sum += value
    count++
    if (highest === null || value > highest) highest = value
    if (lowest === null || value < lowest) lowest = value
  }
  return { mean: count === 0 ? null : sum / count, highest, lowest }
}

/** Returns the index of the first sample at or after a time, s; returns the number of samples if there is no such sample. */
export function indexAt(at: readonly number[], moment: number): number {
  const index = at.findIndex((one) => one >= moment)
  return index < 0 ? at.length : index
}
