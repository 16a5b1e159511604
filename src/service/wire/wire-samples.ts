/** One field of every sample: NaN where a sample has no number; `others` holds, by index, values that are neither null nor numbers. */
export type WireSampleField = {
  readonly numbers: Float64Array
  readonly others: ReadonlyMap<number, unknown>
}

/**
 * The samples of an activity as sent, unchecked, in a column for each field (service document, "session_data entry fields"). The arrays may
 * be longer than `count`.
 */
export type WireSamples = { readonly count: number; readonly fields: ReadonlyMap<string, WireSampleField> }

/** Three days of recording: a ride of 24 hours has 86,400. */
export const MAX_SAMPLES = 260_000
/** Samples times fields, 48 MB of numbers: a ride of 24 hours with 69 fields. */
export const MAX_CELLS = 6_000_000
/** The document has 17 fields for a sample; each further one is a row of `sample_extras`. */
export const MAX_FIELDS = 1_000

/** Turns samples that are objects into columns; undefined when they exceed MAX_SAMPLES, MAX_CELLS or MAX_FIELDS. */
export function columnsOf(samples: ReadonlyArray<Readonly<Record<string, unknown>>>) {
  if (samples.length > MAX_SAMPLES) return undefined
  const fields = new Map<string, { numbers: Float64Array; others: Map<number, unknown> }>()
  for (const [index, sample] of samples.entries()) {
    for (const [name, value] of Object.entries(sample)) {
      let field = fields.get(name)
      if (!field) {
        if (fields.size >= MAX_FIELDS || (fields.size + 1) * samples.length > MAX_CELLS) return undefined
        field = { numbers: new Float64Array(samples.length).fill(Number.NaN), others: new Map() }
        fields.set(name, field)
      }
      if (typeof value === 'number') field.numbers[index] = value
      else if (value !== null && value !== undefined) field.others.set(index, value)
    }
  }
  return { count: samples.length, fields }
}
