import { createHash } from 'node:crypto'
import { DETAIL_FIELDS, LISTED_FIELDS } from '../fields/activity-fields.ts'
import { makeRow } from '../fields/field.ts'
import type { WireActivity, WireListEntry } from '../service/wire/wire-activity.ts'
import type { ActivityDetailRow, Place } from '../store/activities/activity-changes.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { normalizeDate } from './dates.ts'
import { normalizeLocalStart } from './local-start.ts'

const MS_A_SECOND = 1_000

/**
 * Normalizes an activity (service document, "Activity detail") to its row: one column for each field, null where a field is
 * missing, numbers as sent. `elapsedS` is computed: seconds from the first of the `samples` to the last. The wall clock is that of the zone
 * that was sent, or where that is plain UTC, of `place`.
 */
export function normalizeDetail(wire: WireActivity, samples: Samples, place: Place): ActivityDetailRow {
  // When clocks go back an hour occurs twice; the first sample decides.
  const start = normalizeDate(wire, samples.count > 0 ? samples.t[0] : undefined)
  return {
    ...makeRow(DETAIL_FIELDS, wire),
    elapsedS: elapsedSeconds(samples),
    // Of the fields that the list has too, one that is missing here keeps the list's value.
    ...(wire.name != null && { name: wire.name }),
    ...(wire.description !== undefined && { description: wire.description }),
    ...(wire.activityType != null && { activityType: wire.activityType }),
    ...(start && normalizeLocalStart(start, place)),
  }
}

/** Seconds from the first sample to the last; null without samples. */
export function elapsedSeconds({ count, t }: Samples): number | null {
  return count === 0 ? null : ((t[count - 1] as number) - (t[0] as number)) / MS_A_SECOND
}

/** Normalizes an entry of the activity list (service document, "Activity list entry"); a date that cannot be read is null. */
export function normalizeListEntry(wire: WireListEntry): ListedActivity {
  const start = normalizeDate(wire)
  const none = { startedAt: null, timezone: null, startedAtLocal: null, timezoneSource: null }
  return {
    path: wire.path,
    ...makeRow(LISTED_FIELDS, wire),
    ...(start ? normalizeLocalStart(start) : none),
  }
}

/**
 * Hashes an activity without its samples: name, description and the whole summary as sent (service document, "Activity
 * detail"). The order of keys does not matter, so that reordered keys are not an edit.
 */
export function hashSummary(wire: Pick<WireActivity, 'name' | 'description' | 'summaryAsSent'>): string {
  // In a list JSON writes a missing value as null.
  const identity = [wire.name, wire.description, wire.summaryAsSent]
  return createHash('sha256').update(JSON.stringify(identity, sortKeys)).digest('hex')
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
