import { z } from 'zod'
import type { Drift } from './drift.ts'
import { identityField, numberField, objectField, textField } from './fields.ts'
import { type BadItem, listUnknownOutside, type Parsed, parseList } from './lenient.ts'

/** A serialised PHP DateTime (service document, "start_date object"). */
export const startDateField = objectField({
  date: textField,
  timezone_type: numberField,
  timezone: textField,
})

const listEntrySchema = z.looseObject({
  path: identityField,
  name: textField,
  description: textField,
  activity_type: textField,
  start_date: startDateField,
})

/** One entry of the activity list (service document, "Activity list entry"); only `path` is sure to be there. */
export type WireListEntry = z.infer<typeof listEntrySchema>

export type WireActivityList = { entries: WireListEntry[]; bad: BadItem[]; drift: Drift[] }

/** Parses the answer of endpoint 9; fails only when there is no list at all. */
export function parseActivityList(wire: Record<string, unknown>): Parsed<WireActivityList> {
  const list = parseList(listEntrySchema, wire.activities, 'activities[]')
  if (!list) return { ok: false, reason: 'activities is missing or not a list' }
  const drift = [...listUnknownOutside(wire, ['success', 'activities']), ...list.drift]
  return { ok: true, value: { ...list, drift }, drift }
}
