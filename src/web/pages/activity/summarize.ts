import { measureHeight } from '../../../kit/heights/climbed-height.ts'
import type { Sent } from '../../shared/sent.ts'
import type { findSampleColumns, SampledColumn } from './plotted-samples.ts'

export type Samples = Sent<typeof findSampleColumns>
type Column = ReadonlyArray<number | null>

/** With a sample each second, a longer gap is a pause. */
const PAUSE_S = 10
/** Below this speed, m/s, a rider stands still. */
const SLOWEST_MPS = 0.5
/** The window of the weighted mean power, s. */
const WEIGHTED_WINDOW_S = 30
/** The window of the speed: a mean, because distances are rounded. */
const SPEED_REACH = 2
const MPS_TO_KMH = 3.6

/** A stretch of an activity in numbers; null where nothing was recorded. All but `elapsed_s` is derived from the samples. */
export type Summary = ReturnType<typeof summarize>

/** The unsmoothed power if available, as for power curves and zones. */
export function wattsOf({ p_raw: raw, power }: Samples): Column {
  return raw.length > 0 ? raw : power
}

/** Computes the shortest gap that is a pause, s: twice the usual distance of samples means that one is missing. */
export function pauseOf(at: readonly number[]): number {
  const steps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0))
  const usual = steps.sort((a, b) => a - b)[steps.length >> 1] ?? 1
  return Math.max(PAUSE_S, 2 * usual)
}

/** Computes the speed of each sample in km/h from the distance; empty without distance. */
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

/** Sums up the samples from index `begin` to before `end`. */
export function summarize(samples: Samples, begin = 0, end = samples.elapsed_s.length) {
  const cut = (column: Column) => column.slice(begin, end)
  const at = samples.elapsed_s.slice(begin, end)
  const pause = pauseOf(at)
  const of = (name: SampledColumn) => cut(samples[name])
  const watts = cut(wattsOf(samples))
  const dist = of('dist')
  const known = dist.filter((value) => value !== null)
  return {
    elapsed_s: (at.at(-1) ?? 0) - (at[0] ?? 0),
    /** without pauses */
    recorded_s: sumOfSteps(at, pause, (_, took) => took),
    moving_s:
      known.length === 0
        ? null
        : sumOfSteps(at, pause, (index, took) => (isMoving(dist, index, took) ? took : 0)),
    distance_m: known.length < 2 ? null : (known.at(-1) ?? 0) - (known[0] ?? 0),
    climbed_m: measureHeight(
      at,
      of('alt').map((height) => height ?? Number.NaN),
    ).ascentM,
    power: spreadOf(watts),
    mpa: spreadOf(of('mpa')),
    hr: spreadOf(of('hr')),
    cad: spreadOf(of('cad')),
    speed_kmh: spreadOf(cut(speedsOf(samples))),
    work_kj: workOf(at, watts, pause),
    weighted_w: weightedOf(at, watts, pause),
  }
}

/** Sums `value` over the steps between samples, except pauses; `took` is the step's length in s. */
function sumOfSteps(
  at: readonly number[],
  pause: number,
  value: (index: number, took: number) => number,
): number {
  let sum = 0
  for (let index = 0; index + 1 < at.length; index++) {
    const took = (at[index + 1] ?? 0) - (at[index] ?? 0)
    if (took <= pause) sum += value(index, took)
  }
  return sum
}

function isMoving(dist: Column, index: number, took: number): boolean {
  const [from, to] = [dist[index], dist[index + 1]]
  return typeof from === 'number' && typeof to === 'number' && to - from > SLOWEST_MPS * took
}

/** Computes mean and extremes of a column, null without values; not by spreading into Math.max, which has a limit of arguments. */
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

/** The work of a sample until the next one; the last one counts for a second. */
function workOf(at: readonly number[], watts: Column, pause: number): number | null {
  if (!watts.some((value) => value !== null)) return null
  const last = watts.at(-1) ?? 0
  return (sumOfSteps(at, pause, (index, took) => (watts[index] ?? 0) * took) + last) / 1_000
}

/**
 * Computes the weighted mean power, W, as `weighted_power` of ride_measures: the fourth root of the mean fourth power of the 30 s means at
 * each second with power. Pauses count as zero; null below 30 s.
 */
export function weightedOf(at: readonly number[], watts: Column, pause = pauseOf(at)): number | null {
  const seconds: Array<number | null> = []
  at.forEach((moment, index) => {
    const took = Math.round((at[index + 1] ?? moment + 1) - moment)
    const held = took > pause ? 1 : took
    for (let second = 0; second < held; second++) seconds.push(watts[index] ?? null)
    // The mean stays zero after 30 s of a pause.
    for (let second = held; second < Math.min(took, WEIGHTED_WINDOW_S); second++) seconds.push(null)
  })
  let [window, fourths, counted] = [0, 0, 0]
  seconds.forEach((value, index) => {
    window += (value ?? 0) - (seconds[index - WEIGHTED_WINDOW_S] ?? 0)
    if (index < WEIGHTED_WINDOW_S - 1 || value === null) return
    fourths += (window / WEIGHTED_WINDOW_S) ** 4
    counted++
  })
  return counted === 0 ? null : (fourths / counted) ** 0.25
}

/** Finds the index of the first sample at or after a time in s, else the number of samples. */
export function indexAt(at: readonly number[], moment: number): number {
  let [low, high] = [0, at.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((at[middle] ?? 0) < moment) low = middle + 1
    else high = middle
  }
  return low
}
