import { excessOf, isObject } from '../../../kit/json.ts'
import { ACTIVITY_FIELDS, ENTRY_FIELDS } from '../../fields/activity-fields.ts'
import type { Values } from '../../fields/field.ts'
import {
  ANSWER,
  type Drift,
  makeParser,
  type Parsed,
  parseItems,
  parseListAnswer,
  shortenExample,
} from './lenient.ts'

/** One entry of the activity list (service document, "Activity list entry"); only `path` is certain. */
export type WireListEntry = Values<typeof ENTRY_FIELDS>

const parseEntry = makeParser(ENTRY_FIELDS)

/** Parses a response of endpoint 9. Fails only if it has no list. */
export function parseActivityList(wire: Record<string, unknown>) {
  return parseListAnswer(parseEntry, wire, 'activities')
}

/**
 * An activity (service document, "Activity detail"), by the columns of its fields. `session_data` is null or missing if the service has none
 * yet. `summaryAsSent` is the summary as JSON.parse reads it, before conversion; undefined without a summary.
 */
export type WireActivity = Values<typeof ACTIVITY_FIELDS> & {
  session_data?: WireSamples | null
  summaryAsSent?: unknown
}

const parseDetail = makeParser({ ...ANSWER, ...ACTIVITY_FIELDS })

/** Parses a response of endpoint 8. `scanned` is its session data, if already read. Samples that are not objects are reported as drift. */
export function parseActivity(wire: Record<string, unknown>, scanned?: WireSamples): Parsed<WireActivity> {
  const { session_data: sent, ...rest } = wire
  const parsed = parseDetail(rest)
  if (!parsed.ok) return parsed
  const samples = scanned ? { data: scanned, drift: [] } : parseSamples(sent)
  if (samples.data === undefined)
    return { ok: false, reason: 'its samples, or their fields, are too many to hold' }
  const excess = samples.data && excessOfSamples(samples.data)
  if (excess) return { ok: false, reason: `a value of its samples ${excess}` }
  const held = sent === undefined ? {} : { session_data: samples.data }
  const value = { ...parsed.value, ...held, summaryAsSent: rest.summary }
  return { ok: true, value, drift: [...parsed.drift, ...samples.drift] }
}

function parseSamples(sent: unknown): { data: WireSamples | null | undefined; drift: Drift[] } {
  if (sent === undefined || sent === null) return { data: null, drift: [] }
  const items = parseItems(sent)
  if (!items) return { data: null, drift: [typeDrift(sent)] }
  if (items.every(isObject)) return { data: columnsOf(items), drift: [] }
  return {
    data: columnsOf(items.filter(isObject)),
    drift: [typeDrift(items.find((item) => !isObject(item)))],
  }
}

function excessOfSamples({ fields }: WireSamples): string | undefined {
  for (const { others } of fields.values()) {
    for (const value of others.values()) {
      const excess = excessOf(value)
      if (excess !== undefined) return excess
    }
  }
  return undefined
}

function typeDrift(example: unknown): Drift {
  return { field: 'session_data', kind: 'type', example: shortenExample(example) }
}

/** One field of all samples. `numbers` is NaN for a sample without a number; `others` has values that are neither null nor numbers, by index. */
export type WireSampleField = {
  readonly numbers: Float64Array
  readonly others: ReadonlyMap<number, unknown>
}

/** An activity's samples as sent, unchecked, with one column per field. The arrays may be longer than `count`. */
export type WireSamples = { readonly count: number; readonly fields: ReadonlyMap<string, WireSampleField> }

/** Maximum number of samples: three days of recording; a ride of 24 hours has 86,400. */
export const MAX_SAMPLES = 260_000
/** Maximum number of samples times fields, 48 MB of numbers: a ride of 24 hours with 69 fields. */
export const MAX_CELLS = 6_000_000
/** Maximum number of fields in samples: the document has 17; each further field is a row of `sample_extras`. */
const MAX_FIELDS = 1_000

/** Turns samples that are objects into columns; returns undefined if they exceed MAX_SAMPLES, MAX_CELLS or MAX_FIELDS. */
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
