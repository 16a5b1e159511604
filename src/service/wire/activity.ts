import { z } from 'zod'
import { startDateField } from './activity-list.ts'
import { type Drift, shortenExample } from './drift.ts'
import { isObject, numberField, objectField, parseItems, textField } from './fields.ts'
import { type Parsed, parseLenient } from './lenient.ts'

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
  name: textField,
  description: textField,
  summary: summaryField,
})

/** The summary of an activity (service document, "summary fields"); unknown fields are kept, any field may be missing. */
export type WireSummary = NonNullable<z.infer<typeof summaryField>>

/** One second of an activity as sent (service document, "session_data entry fields"); not checked field by field. */
export type WireSample = Record<string, unknown>

/** An activity (service document, "Activity detail"). `session_data` is null or missing when the service has none yet. */
export type WireActivity = z.infer<typeof activitySchema> & {
  session_data?: WireSample[] | null
  drift: Drift[]
}

/**
 * Parses the answer of endpoint 8. The samples, several MB of them, are only checked to be a list of objects; what is
 * none is left out and reported as drift.
 */
export function parseActivity(wire: Record<string, unknown>): Parsed<WireActivity> {
  const { session_data: sent, ...rest } = wire
  const parsed = parseLenient(activitySchema, rest)
  if (!parsed.ok) return parsed
  const samples = parseSamples(sent)
  const drift = [...parsed.drift, ...samples.drift]
  const held = sent === undefined ? {} : { session_data: samples.list }
  return { ok: true, value: { ...parsed.value, ...held, drift }, drift }
}

function parseSamples(sent: unknown): { list: WireSample[] | null; drift: Drift[] } {
  if (sent === undefined || sent === null) return { list: null, drift: [] }
  const items = parseItems(sent)
  if (!items) return { list: null, drift: [typeDrift(sent)] }
  if (items.every(isObject)) return { list: items, drift: [] }
  return { list: items.filter(isObject), drift: [typeDrift(items.find((item) => !isObject(item)))] }
}

function typeDrift(example: unknown): Drift {
  return { field: 'session_data', kind: 'type', example: shortenExample(example) }
}
