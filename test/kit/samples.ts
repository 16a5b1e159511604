import type { SampleField } from '../../src/core/fields/sample-fields.ts'
import { SAMPLE_FIELDS, type SampleExtra, type Samples } from '../../src/core/store/samples/encode-samples.ts'

const START_MS = Date.UTC(2024, 4, 1, 6)
/** The value of an unknown sample. */
export const UNKNOWN = Number.NaN

/** Makes samples one second apart, with the values that `value` returns. */
export function makeSamples(
  count: number,
  value: (field: SampleField, index: number) => number = (_, index) => index,
): Samples {
  const columns = Object.fromEntries(
    SAMPLE_FIELDS.map((field) => [
      field,
      Float64Array.from({ length: count }, (_, index) => value(field, index)),
    ]),
  )
  const t = Float64Array.from({ length: count }, (_, index) => START_MS + index * 1_000)
  return { count, t, columns: columns as Record<SampleField, Float64Array> }
}

/** Makes a field without a column with these values; null if a sample has no value. */
export function makeExtra(field: string, values: readonly unknown[]): SampleExtra {
  const numbers = values.map((value) => (typeof value === 'number' ? value : UNKNOWN))
  const others = [...values.entries()].filter(([, value]) => value !== null && typeof value !== 'number')
  return { field, count: values.length, values: Float64Array.from(numbers), others: new Map(others) }
}

export type Second = { at?: number; raw?: number } & Partial<
  Record<'power' | 'mpa' | 'hr' | 'cad' | 'alt' | 'dist', number>
>

/** Makes samples with only these values, one second apart, or at `at`, s. */
export function makeSamplesOf(seconds: readonly Second[]): Samples {
  const samples = makeSamples(seconds.length, () => UNKNOWN)
  for (const [index, { at = index, raw, ...values }] of seconds.entries()) {
    samples.t[index] = START_MS + at * 1_000
    samples.columns.p_raw[index] = raw ?? UNKNOWN
    for (const [field, value] of Object.entries(values)) samples.columns[field as SampleField][index] = value
  }
  return samples
}
