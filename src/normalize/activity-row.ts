import { createHash } from 'node:crypto'
import type { WireActivity, WireListEntry, WireSummary } from '../service/wire/wire-activity.ts'
import type { ActivityDetailRow, Place } from '../store/activities/detail-columns.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { normalizeDate } from './dates.ts'
import { normalizeLocalStart } from './local-start.ts'
import { pickFields } from './pick-fields.ts'

const MS_A_SECOND = 1_000

/**
 * Normalizes an activity (service document, "Activity detail") to its row: one column for each field, null where a field is
 * missing, numbers as sent. `elapsedS` is computed: seconds from the first of the `samples` to the last. The wall clock is that of the zone
 * that was sent, or where that is plain UTC, of `place`.
 */
export function normalizeDetail(wire: WireActivity, samples: Samples, place: Place): ActivityDetailRow {
  const summary: Partial<WireSummary> = wire.summary ?? {}
  const { session, sig, prev_sig, progression } = summary
  return {
    ...listed(wire, summary, { samples, place }),
    elapsedS: elapsedSeconds(samples),
    ...pickFields(session, ['max_power', 'avg_power', 'max_cadence']),
    ...pickFields(session, ['total_elevation_gain', 'total_calories']),
    ...pickFields(summary, ['xss', 'xlss', 'xhss', 'xpss', 'xep', 'mep', 'tws', 'sp', 'sfd']),
    ...pickFields(summary, ['focus', 'specificity', 'difficulty', 'difficulty_rating']),
    ...pickFields(summary, ['distance', 'duration', 'medal', 'breakthrough']),
    ...pickFields(summary, ['total_grams_carbs', 'total_grams_fat']),
    ...pickFields(summary, ['training_status', 'freshness', 'street_view', 'activity_map', 'chart_view']),
    ...pickFields(sig, ['ftp', 'atc', 'pp'], 'sig'),
    ...pickFields(prev_sig, ['ftp', 'atc', 'pp', 'ltp'], 'prev_sig'),
    ...pickFields(progression, ['date'], 'progression'),
    ...pickFields(progression, ['form']),
    ...pickFields(progression?.tl, ['ftp', 'hie', 'pp'], 'tl'),
    ...pickFields(progression?.rl, ['ftp', 'hie', 'pp'], 'rl'),
  }
}

// The fields that the list has too: one that is missing here keeps the list's value.
function listed(
  wire: WireActivity,
  summary: Partial<WireSummary>,
  { samples, place }: { samples: Samples; place: Place },
) {
  // When clocks go back an hour occurs twice; the first sample decides.
  const start = normalizeDate(summary.start_date, samples.count > 0 ? samples.t[0] : undefined)
  return {
    ...(wire.name != null && { name: wire.name }),
    ...(wire.description !== undefined && { description: wire.description }),
    ...(summary.activity_type != null && { activityType: summary.activity_type }),
    ...(start && normalizeLocalStart(start, place)),
  }
}

/** Seconds from the first sample to the last; null without samples. */
export function elapsedSeconds({ count, t }: Samples): number | null {
  return count === 0 ? null : ((t[count - 1] as number) - (t[0] as number)) / MS_A_SECOND
}

/** Normalizes an entry of the activity list (service document, "Activity list entry"); a date that cannot be read is null. */
export function normalizeListEntry(wire: WireListEntry): ListedActivity {
  const start = normalizeDate(wire.start_date)
  const none = { startedAt: null, timezone: null, startedAtLocal: null, timezoneSource: null }
  return {
    path: wire.path,
    ...pickFields(wire, ['name', 'description', 'activity_type']),
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
