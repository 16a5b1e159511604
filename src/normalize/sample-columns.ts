import { SAMPLE_VALUE_FIELDS, type SampleField } from '../fields/sample-fields.ts'
import { FLOAT4_LIMIT, fitsTimestamp, parseDecimal } from '../kit/floats.ts'
import type { Drift } from '../service/wire/lenient.ts'
import type { WireSampleField, WireSamples } from '../service/wire/wire-samples.ts'
import type { SampleExtra, Samples } from '../store/samples/encode-samples.ts'

/**
 * Counts of what no column can hold: numbers out of range, which become null; values of fields whose name is too long, and
 * samples without a readable time, which are left out.
 */
export type Lost = { values: number; samples: number }

type NormalizedSamples = { samples: Samples; extras: SampleExtra[]; drift: Drift[]; lost: Lost }

type NoteDrift = (field: string, kind: Drift['kind'], example: unknown) => void

const TIME = 'unix_time'
const FIELDS = Object.keys(SAMPLE_VALUE_FIELDS) as SampleField[]
const KNOWN = new Set<string>([TIME, ...FIELDS])
/** `sample_extras` has an index over the names of fields; a row of it holds 2,704 bytes. */
const LONGEST_NAME_BYTES = 1_000

/**
 * Normalizes `session_data` (service document, "session_data entry fields") to one typed array for each field, in the order of
 * time. `unix_time` is in milliseconds. Null, missing and unreadable numbers become NaN, and so do infinities and numbers beyond
 * what their column can hold; a sample without a readable time is left out. Drift names each such field once, and every field
 * without a column. Arrays that need no change are shared with `wire`.
 */
export function normalizeSamples(wire: WireSamples): NormalizedSamples {
  const drift = new Map<string, Drift>()
  const note: NoteDrift = (field, kind, example) => {
    const key = `${kind} ${field}`
    // JSON has no infinities.
    const shown = typeof example === 'number' && !Number.isFinite(example) ? String(example) : example
    if (!drift.has(key)) drift.set(key, { field: `session_data.${field}`, kind, example: shown })
  }
  const lost: Lost = { values: 0, samples: 0 }
  const unknown = makeUnknown(wire.count)
  const numbers = (field: SampleField) => {
    const sent = numbersOf(wire.fields.get(field), field, note)
    if (!sent) return unknown
    const limit = SAMPLE_VALUE_FIELDS[field].kind === 'real' ? FLOAT4_LIMIT : Number.POSITIVE_INFINITY
    return withinRange(sent, wire.count, limit, (value) => {
      lost.values++
      note(field, 'range', value)
    })
  }
  const times = numbersOf(wire.fields.get(TIME), TIME, note) ?? unknown
  const order = orderByTime(wire, times, note)
  const count = order?.length ?? wire.count
  lost.samples = wire.count - count
  const inOrder = (values: Float64Array) =>
    order ? Float64Array.from(order, (at) => values[at] as number) : values
  const columns = Object.fromEntries(FIELDS.map((field) => [field, inOrder(numbers(field))])) as Record<
    SampleField,
    Float64Array
  >
  const extras: SampleExtra[] = []
  for (const [field, values] of wire.fields) {
    if (KNOWN.has(field)) continue
    if (Buffer.byteLength(field) > LONGEST_NAME_BYTES) {
      lost.values += count
      note(field, 'range', null)
      continue
    }
    const sent = withinRange(inOrder(values.numbers), count, Number.POSITIVE_INFINITY, (value) => {
      lost.values++
      note(field, 'range', value)
    })
    const others = order ? movedTo(order, values.others) : values.others
    if (count > 0) extras.push({ field, count, values: sent, others })
    note(field, 'unknown', firstOf(sent, others, count))
  }
  return { samples: { count, t: inOrder(times), columns }, extras, drift: [...drift.values()], lost }
}

function makeUnknown(count: number): Float64Array {
  return new Float64Array(count).fill(Number.NaN)
}

/** Reads the numbers of a field, also from numeric text; any other value is drift, except times, which `orderByTime` checks. */
function numbersOf(field: WireSampleField | undefined, name: string, note: NoteDrift) {
  if (!field || field.others.size === 0) return field?.numbers
  const numbers = field.numbers.slice()
  for (const [index, value] of field.others) {
    const number = typeof value === 'string' ? parseDecimal(value.trim()) : Number.NaN
    if (Number.isNaN(number) && name !== TIME) note(name, 'type', value)
    numbers[index] = number
  }
  return numbers
}

/** Replaces the numbers among the first `count` that reach the limit by NaN; `onMisfit` is called with each of them. */
function withinRange(numbers: Float64Array, count: number, limit: number, onMisfit: (value: number) => void) {
  let kept = numbers
  for (let index = 0; index < count; index++) {
    const value = numbers[index] as number
    if (Math.abs(value) < limit || Number.isNaN(value)) continue
    if (kept === numbers) kept = numbers.slice()
    kept[index] = Number.NaN
    onMisfit(value)
  }
  return kept
}

/** Sorts the indexes of the samples with a readable time by time; undefined when all have one and are in order already. */
function orderByTime(wire: WireSamples, times: Float64Array, note: NoteDrift): number[] | undefined {
  let previous = Number.NEGATIVE_INFINITY
  let at = 0
  for (; at < wire.count; at++) {
    const time = times[at] as number
    if (!(time >= previous && fitsTimestamp(time))) break
    previous = time
  }
  if (at === wire.count) return undefined
  const order: number[] = []
  for (let index = 0; index < wire.count; index++) {
    if (fitsTimestamp(times[index] as number)) order.push(index)
    else note(TIME, 'type', sentAt(wire.fields.get(TIME), index) ?? null)
  }
  return order.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b)
}

/** Moves values by index to their places in the order of time. */
function movedTo(order: readonly number[], others: ReadonlyMap<number, unknown>): Map<number, unknown> {
  if (others.size === 0) return new Map()
  return new Map(order.flatMap((at, place) => (others.has(at) ? [[place, others.get(at)] as const] : [])))
}

function firstOf(numbers: Float64Array, others: ReadonlyMap<number, unknown>, count: number): unknown {
  for (let index = 0; index < count; index++) {
    const value = others.get(index) ?? numbers[index]
    if (!Number.isNaN(value)) return value
  }
  return null
}

function sentAt(field: WireSampleField | undefined, index: number): unknown {
  const number = field?.numbers[index]
  return number === undefined || Number.isNaN(number) ? field?.others.get(index) : number
}
