import type { Drift } from '../service/wire/drift.ts'
import type { SampleField, Samples } from '../store/samples/samples.ts'

/** One sample as the wire has it; every field may be missing, null or a numeric string. */
export type WireSample = Readonly<Record<string, unknown>>

/** A per-second field that has no column: its values in the order of the samples' time, null where a sample lacks it. */
export type SampleExtra = { field: string; values: unknown[] }

export type NormalizedSamples = { samples: Samples; extras: SampleExtra[]; drift: Drift[] }

/** The last millisecond a JavaScript date, and a `timestamptz` with ease, can hold. */
const LAST_MS = 8.64e15
/** The wire's name of each column of the samples. */
const WIRE_NAMES = {
  power: 'power',
  mpa: 'mpa',
  cad: 'cad',
  alt: 'alt',
  hr: 'hr',
  spd: 'spd',
  tgt: 'tgt',
  lat: 'lat',
  lng: 'lng',
  dist: 'dist',
  tws: 'tws',
  xds: 'xds',
  p_raw: 'p_raw',
  lws: 'lws',
  hws: 'hws',
  pws: 'pws',
} as const satisfies Record<SampleField, string>
const FIELDS = Object.values(WIRE_NAMES)
const KNOWN = new Set<string>(['unix_time', ...FIELDS])

/**
 * Normalizes `session_data` (service document, "Activity detail") to one typed array a field, in the order of time.
 * `unix_time` is milliseconds. Null, missing and unreadable numbers become NaN; a sample without a readable time is
 * left out and reported as drift, as is every field without a column and every value of a wrong type.
 */
export function normalizeSamples(wire: readonly WireSample[]): NormalizedSamples {
  const drift = new Map<string, Drift>()
  const { order, times } = orderByTime(wire, drift)
  const samples = makeSamples(order.length)
  const extras = new Map<string, unknown[]>()
  for (let index = 0; index < order.length; index++) {
    const sample = wire[order[index] as number] as WireSample
    samples.t[index] = times[order[index] as number] as number
    let present = 1
    for (const field of FIELDS) {
      const value = sample[field]
      if (value === undefined) continue
      present++
      samples.columns[field][index] = typeof value === 'number' ? value : lenientNumber(field, value, drift)
    }
    if (Object.keys(sample).length > present) collectExtras(sample, index, order.length, extras)
  }
  for (const [field, values] of extras) {
    noteDrift(drift, field, 'unknown', values.find((value) => value !== null && value !== undefined) ?? null)
  }
  return {
    samples,
    extras: [...extras].map(([field, values]) => ({ field, values })),
    drift: [...drift.values()],
  }
}

/** Makes samples with every value unknown. */
export function makeSamples(count: number): Samples {
  const columns = Object.fromEntries(FIELDS.map((field) => [field, new Float64Array(count).fill(Number.NaN)]))
  return { count, t: new Float64Array(count), columns: columns as Record<SampleField, Float64Array> }
}

function orderByTime(
  wire: readonly WireSample[],
  drift: Map<string, Drift>,
): { order: number[]; times: Float64Array } {
  const times = new Float64Array(wire.length)
  const order: number[] = []
  let sorted = true
  let previous = Number.NEGATIVE_INFINITY
  for (const [index, sample] of wire.entries()) {
    const value = sample !== null && typeof sample === 'object' ? sample.unix_time : undefined
    const time =
      typeof value === 'number'
        ? value
        : Number(typeof value === 'string' ? value.trim() || Number.NaN : Number.NaN)
    if (!(Math.abs(time) <= LAST_MS)) {
      noteDrift(drift, 'unix_time', 'type', value)
      continue
    }
    times[index] = time
    order.push(index)
    sorted &&= time >= previous
    previous = time
  }
  if (!sorted) order.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b)
  return { order, times }
}

function lenientNumber(field: string, value: unknown, drift: Map<string, Drift>): number {
  if (value === null) return Number.NaN
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number)) noteDrift(drift, field, 'type', value)
  return number
}

function collectExtras(
  sample: WireSample,
  index: number,
  count: number,
  extras: Map<string, unknown[]>,
): void {
  for (const field of Object.keys(sample)) {
    if (KNOWN.has(field)) continue
    let values = extras.get(field)
    if (!values) {
      values = new Array(count).fill(null)
      extras.set(field, values)
    }
    values[index] = sample[field] ?? null
  }
}

function noteDrift(drift: Map<string, Drift>, field: string, kind: Drift['kind'], example: unknown): void {
  const key = `${kind} ${field}`
  if (!drift.has(key)) drift.set(key, { field: `session_data.${field}`, kind, example })
}
