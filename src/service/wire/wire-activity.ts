import { z } from 'zod'
import { excessOf, isObject } from '../../kit/json.ts'
import type { Drift } from './lenient.ts'
import {
  type BadItem,
  identityField,
  nameField,
  numberField,
  objectField,
  type Parsed,
  parseItems,
  parseLenient,
  parseListAnswer,
  shortenExample,
  textField,
} from './lenient.ts'
import { columnsOf, type WireSamples } from './wire-samples.ts'

/** A serialised PHP DateTime (service document, "start_date object"). */
const startDateField = objectField({
  date: textField,
  timezone_type: numberField,
  timezone: textField,
})

const listEntrySchema = z.looseObject({
  path: identityField,
  name: nameField,
  description: textField,
  activity_type: textField,
  start_date: startDateField,
})

/** One entry of the activity list (service document, "Activity list entry"); only `path` is certain. */
export type WireListEntry = z.infer<typeof listEntrySchema>

export type WireActivityList = { entries: WireListEntry[]; bad: BadItem[]; drift: Drift[] }

/** Parses the answer of endpoint 9; fails only without a list. */
export function parseActivityList(wire: Record<string, unknown>): Parsed<WireActivityList> {
  return parseListAnswer(listEntrySchema, wire, 'activities')
}

const loadsField = objectField({ ftp: numberField, hie: numberField, pp: numberField })

const summaryField = objectField({
  session: objectField({
    max_power: numberField,
    avg_power: numberField,
    max_cadence: numberField,
    total_elevation_gain: numberField,
    total_calories: numberField,
  }),
  xss: numberField,
  xlss: numberField,
  xhss: numberField,
  xpss: numberField,
  xep: numberField,
  mep: numberField,
  tws: numberField,
  sp: numberField,
  sfd: numberField,
  focus: textField,
  specificity: textField,
  difficulty: numberField,
  difficulty_rating: textField,
  distance: numberField,
  duration: numberField,
  sig: objectField({ ftp: numberField, atc: numberField, pp: numberField }),
  prev_sig: objectField({ ftp: numberField, atc: numberField, pp: numberField, ltp: numberField }),
  medal: numberField,
  breakthrough: numberField,
  activity_type: textField,
  start_date: startDateField,
  total_grams_carbs: numberField,
  total_grams_fat: numberField,
  progression: objectField({ date: textField, tl: loadsField, rl: loadsField, form: numberField }),
  training_status: numberField,
  freshness: textField,
  street_view: textField,
  activity_map: textField,
  chart_view: textField,
})

const activitySchema = z.looseObject({
  success: z.unknown().optional(),
  name: nameField,
  description: textField,
  summary: summaryField,
})

/** The summary of an activity (service document, "summary fields"); unknown fields are kept, any field may be missing. */
export type WireSummary = NonNullable<z.infer<typeof summaryField>>

/**
 * An activity (service document, "Activity detail"). `session_data` is null or missing when the service has none yet. `summaryAsSent` is
 * the summary as JSON.parse reads it, before conversion; undefined without a summary.
 */
export type WireActivity = z.infer<typeof activitySchema> & {
  session_data?: WireSamples | null
  summaryAsSent?: unknown
  drift: Drift[]
}

/**
 * Parses the answer of endpoint 8. `scanned` is its session data if already read from the bytes. Samples that are not objects are left out
 * and reported as drift.
 */
export function parseActivity(wire: Record<string, unknown>, scanned?: WireSamples): Parsed<WireActivity> {
  const { session_data: sent, ...rest } = wire
  const parsed = parseLenient(activitySchema, rest)
  if (!parsed.ok) return parsed
  const samples = scanned ? { data: scanned, drift: [] } : parseSamples(sent)
  if (samples.data === undefined)
    return { ok: false, reason: 'its samples, or their fields, are too many to hold' }
  const excess = samples.data && excessOfSamples(samples.data)
  if (excess) return { ok: false, reason: `a value of its samples ${excess}` }
  const drift = [...parsed.drift, ...samples.drift]
  const held = sent === undefined ? {} : { session_data: samples.data }
  const value = { ...parsed.value, ...held, summaryAsSent: rest.summary, drift }
  return { ok: true, value, drift }
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
