const COLUMNS = 'power mpa cad alt hr spd tgt lat lng dist tws xds p_raw lws hws pws'.split(' ')
const DOUBLE = new Set(['lat', 'lng'])
const KNOWN = new Set(['unix_time', ...COLUMNS])

/** A sample of the table, to compare with `sampleFromWire`. */
export function sampleFromTable(row: Record<string, unknown>): unknown[] {
  return [
    row.t instanceof Date ? row.t.getTime() : null,
    ...COLUMNS.map((column) => held(column, row[column])),
  ]
}

/** A sample of the service, as the table should hold it. */
export function sampleFromWire(sample: Record<string, unknown>): unknown[] {
  return [Number(sample.unix_time), ...COLUMNS.map((column) => held(column, sample[column]))]
}

/** The per-second fields that have no column, by name, null where a sample lacks them. */
export function expectedExtras(samples: ReadonlyArray<Record<string, unknown>>): Record<string, unknown[]> {
  const fields = new Set(
    samples.flatMap((sample) => Object.keys(sample).filter((field) => !KNOWN.has(field))),
  )
  return Object.fromEntries(
    [...fields].map((field) => [field, samples.map((sample) => sample[field] ?? null)]),
  )
}

// The columns are `real` but for the position: both sides are compared as the nearest such number.
function held(column: string, value: unknown): number | null {
  if (value === null || value === undefined) return null
  return DOUBLE.has(column) ? Number(value) : Math.fround(Number(value))
}
