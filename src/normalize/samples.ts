import type { Drift } from '../service/wire/drift.ts'
import type { SessionData, SessionField } from '../service/wire/session-data/columns.ts'
import type { SampleField, Samples } from '../store/samples/samples.ts'

/** A per-second field that has no column: its values in the order of the samples' time, null where a sample lacks it. */
export type SampleExtra = { field: string; values: unknown[] }

export type NormalizedSamples = { samples: Samples; extras: SampleExtra[]; drift: Drift[] }

type NoteDrift = (field: string, kind: Drift['kind'], example: unknown) => void

/** The last millisecond a JavaScript date, and a `timestamptz` with ease, can hold. */
const LAST_MS = 8.64e15
const TIME = 'unix_time'
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
const KNOWN = new Set<string>([TIME, ...FIELDS])

/**
 * Normalizes `session_data` (service document, "Activity detail") to one typed array a field, in the order of time.
 * `unix_time` is milliseconds. Null, missing and unreadable numbers become NaN; a sample without a readable time is
 * left out and reported as drift, as is every field without a column and every value of a wrong type. Arrays that need no
 * change are those of `wire`.
 */
export function normalizeSamples(wire: SessionData): NormalizedSamples {
  const drift = new Map<string, Drift>()
  const note: NoteDrift = (field, kind, example) => {
    const key = `${kind} ${field}`
    if (!drift.has(key)) drift.set(key, { field: `session_data.${field}`, kind, example })
  }
  const unknown = makeUnknown(wire.count)
  const numbers = (field: string) => numbersOf(wire.fields.get(field), field, note) ?? unknown
  const times = numbers(TIME)
  const order = orderByTime(wire, times, note)
  const count = order?.length ?? wire.count
  const inOrder = (values: Float64Array) =>
    order ? Float64Array.from(order, (at) => values[at] as number) : values
  const columns = Object.fromEntries(FIELDS.map((field) => [field, inOrder(numbers(field))])) as Record<
    SampleField,
    Float64Array
  >
  const extras: SampleExtra[] = []
  for (const [field, values] of wire.fields) {
    if (KNOWN.has(field)) continue
    const sent = valuesOf(values, order ?? Array.from({ length: count }, (_, index) => index))
    if (count > 0) extras.push({ field, values: sent })
    note(field, 'unknown', sent.find((value) => value !== null) ?? null)
  }
  return { samples: { count, t: inOrder(times), columns }, extras, drift: [...drift.values()] }
}

/** Makes samples with every value unknown. */
export function makeSamples(count: number): Samples {
  const columns = Object.fromEntries(FIELDS.map((field) => [field, makeUnknown(count)]))
  return { count, t: new Float64Array(count), columns: columns as Record<SampleField, Float64Array> }
}

function makeUnknown(count: number): Float64Array {
  return new Float64Array(count).fill(Number.NaN)
}

/** The numbers of a field, numeric text among them; what is anything else is drift, but times are judged all together. */
function numbersOf(field: SessionField | undefined, name: string, note: NoteDrift): Float64Array | undefined {
  if (!field || field.others.size === 0) return field?.numbers
  const numbers = field.numbers.slice()
  for (const [index, value] of field.others) {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
    if (Number.isNaN(number) && name !== TIME) note(name, 'type', value)
    numbers[index] = number
  }
  return numbers
}

/** The places of the samples that have a readable time, in the order of time; undefined when that is how they were sent. */
function orderByTime(wire: SessionData, times: Float64Array, note: NoteDrift): number[] | undefined {
  let previous = Number.NEGATIVE_INFINITY
  let at = 0
  for (; at < wire.count; at++) {
    const time = times[at] as number
    if (!(time >= previous && time <= LAST_MS && time >= -LAST_MS)) break
    previous = time
  }
  if (at === wire.count) return undefined
  const order: number[] = []
  for (let index = 0; index < wire.count; index++) {
    if (Math.abs(times[index] as number) <= LAST_MS) order.push(index)
    else note(TIME, 'type', sentAt(wire.fields.get(TIME), index) ?? null)
  }
  return order.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b)
}

function valuesOf(field: SessionField, order: readonly number[]): unknown[] {
  return order.map((at) => sentAt(field, at) ?? null)
}

function sentAt(field: SessionField | undefined, index: number): unknown {
  const number = field?.numbers[index]
  return number === undefined || Number.isNaN(number) ? field?.others.get(index) : number
}
