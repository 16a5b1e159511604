import type { Samples } from '../store/samples/encode-samples.ts'

const MS_A_SECOND = 1_000
/** Samples further apart than this are no recording of a course, s: each stands for its own second. */
const WIDEST_S = 300

/**
 * How far apart the samples of a recording are, and how long each lasts. `spacingS`: the median distance between seconds with a
 * sample, s, 1 for nearly all recordings; `heldS`: seconds that a sample lasts, 0 for one that a later one of its second replaces.
 */
export type SampleSpacing = { readonly spacingS: number; readonly heldS: Uint16Array }

/**
 * Finds the spacing of samples in the order of time. A sample lasts until the next one when that is less than two spacings away,
 * else for one spacing, and a gap follows. So a gap of a recording of each second begins at its first missing second, and one of a
 * recording of every 5 s where a sample is missing.
 */
export function measureSampleSpacing({ t, count }: Pick<Samples, 't' | 'count'>): SampleSpacing {
  const spacingS = medianStep(t, count)
  const heldS = new Uint16Array(count)
  for (let index = 0; index + 1 < count; index++) {
    const step = secondOf(t[index + 1] as number) - secondOf(t[index] as number)
    heldS[index] = step < 2 * spacingS ? step : spacingS
  }
  if (count > 0) heldS[count - 1] = spacingS
  return { spacingS, heldS }
}

/** Counts the distances between different seconds, and takes the one in the middle. */
function medianStep(t: Float64Array, count: number): number {
  const times = new Int32Array(WIDEST_S + 2)
  let steps = 0
  for (let index = 1; index < count; index++) {
    const step = secondOf(t[index] as number) - secondOf(t[index - 1] as number)
    // A time that is no number gives a step that is none.
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

/** Returns the whole second of a time, both since 1970. */
export function secondOf(ms: number): number {
  return Math.floor(ms / MS_A_SECOND)
}
