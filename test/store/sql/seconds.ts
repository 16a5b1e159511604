import { makeSamples } from '../../../src/normalize/sample-columns.ts'
import type { Samples } from '../../../src/store/samples/samples.ts'

const START_MS = Date.UTC(2024, 4, 1, 6)
/** How samples hold what is not known. */
export const UNKNOWN = Number.NaN

export type Second = { at?: number; power?: number; raw?: number; mpa?: number; hr?: number }

/** Samples one second apart unless `at`, in seconds, says otherwise. */
export function ride(seconds: readonly Second[]): Samples {
  const samples = makeSamples(seconds.length)
  for (const [
    index,
    { at = index, power = UNKNOWN, raw = UNKNOWN, mpa = UNKNOWN, hr = UNKNOWN },
  ] of seconds.entries()) {
    samples.t[index] = START_MS + at * 1_000
    samples.columns.power[index] = power
    samples.columns.p_raw[index] = raw
    samples.columns.mpa[index] = mpa
    samples.columns.hr[index] = hr
  }
  return samples
}
