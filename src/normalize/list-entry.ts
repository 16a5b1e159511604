import type { WireListEntry } from '../service/wire/activity-list.ts'
import type { ListedActivity } from '../store/activities/listed.ts'
import { normalizeDate } from './dates.ts'

/** Normalizes an activity list entry (service document, "Activity list entry"); a date that cannot be read is null, and drift. */
export function normalizeListEntry(wire: WireListEntry): ListedActivity {
  const start = normalizeDate(wire.start_date)
  return {
    path: wire.path,
    name: wire.name ?? null,
    description: wire.description ?? null,
    activityType: wire.activity_type ?? null,
    startedAt: start?.instant ?? null,
    timezone: start?.timezone ?? null,
    startedAtLocal: start?.local ?? null,
  }
}
