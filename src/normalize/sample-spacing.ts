import { hasValue } from '../kit/floats.ts'
import type { PowerSource } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

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
export function powerSourceOf({ columns, count }: Samples): PowerSource {
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}
