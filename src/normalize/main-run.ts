import type { SampleField, Samples } from '../store/samples/encode-samples.ts'
import { LONGEST_S } from './by-second.ts'

/** A pause of more than a day is not a pause of a ride, ms. */
const LONGEST_PAUSE_MS = 24 * 3_600_000
/** A ride is longer than the service says by its pauses, and hardly shorter than two thirds of that. */
const MAX_OF_RUN = 1.5

/**
 * Takes the main run out of samples in the order of time, and how many strays are not of it. Runs begin where more than a day lies between
 * two samples; the main one has the most samples, and of equal ones it is the last, because a clock is set right and not wrong. All
 * samples are of it when they span no more than 7 days, and the `duration` of the service, s, does not say that the main run is the ride.
 */
export function normalizeMainRun(samples: Samples, durationS: number | null) {
  const { count, t } = samples
  let [from, end, begin] = [0, 0, 0]
  for (let index = 1; index <= count; index++) {
    if (index < count && (t[index] as number) - (t[index - 1] as number) <= LONGEST_PAUSE_MS) continue
    if (index - begin >= end - from) [from, end] = [begin, index]
    begin = index
  }
  const spanS = (first: number, last: number) => ((t[last] as number) - (t[first] as number)) / 1_000
  if (end - from === count) return { main: samples, strays: 0 }
  const isWhole = durationS !== null && durationS <= MAX_OF_RUN * spanS(from, end - 1)
  if (!isWhole && spanS(0, count - 1) <= LONGEST_S) return { main: samples, strays: 0 }
  const columns = Object.fromEntries(
    Object.entries(samples.columns).map(([field, values]) => [field, values.subarray(from, end)]),
  ) as Record<SampleField, Float64Array>
  return { main: { count: end - from, t: t.subarray(from, end), columns }, strays: count - (end - from) }
}
