import { ACTIVITY_FIELDS, ENTRY_FIELDS } from '../../fields/activity-fields.ts'
import type { Values } from '../../fields/field.ts'
import { excessOf, isObject } from '../../kit/json.ts'
import type { Drift } from './lenient.ts'
import { ANSWER, makeParser, type Parsed, parseItems, parseListAnswer, shortenExample } from './lenient.ts'
import { columnsOf, type WireSamples } from './wire-samples.ts'

/** One entry of the activity list (service document, "Activity list entry"); only `path` is certain. */
export type WireListEntry = Values<typeof ENTRY_FIELDS>

const parseEntry = makeParser(ENTRY_FIELDS)

/** Parses the answer of endpoint 9; fails only without a list. */
export function parseActivityList(wire: Record<string, unknown>) {
  return parseListAnswer(parseEntry, wire, 'activities')
}

/**
 * An activity (service document, "Activity detail"), by the columns of its fields. `session_data` is null or missing when the service has
 * none yet. `summaryAsSent` is the summary as JSON.parse reads it, before conversion; undefined without a summary.
 */
export type WireActivity = Values<typeof ACTIVITY_FIELDS> & {
  session_data?: WireSamples | null
  summaryAsSent?: unknown
}

const parseDetail = makeParser({ ...ANSWER, ...ACTIVITY_FIELDS })

/**
 * Parses the answer of endpoint 8. `scanned` is its session data if already read from the bytes. Samples that are not objects are left out
 * and reported as drift.
 */
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
