import { sql } from 'drizzle-orm'
import type { SUMMARY_FIELDS } from '../../../core/fields/activity-fields.ts'
import type { SqlRow } from '../../../core/fields/field.ts'

/** An activity in a list. `started_at_local` is the activity's local time as an ISO string without an offset. */
export type ActivityLine = Pick<SqlRow<typeof SUMMARY_FIELDS>, 'avg_power' | 'xss' | 'breakthrough'> & {
  activity_id: number
  account: string
  name: string | null
  activity_type: string | null
  started_at_local: string | null
  detail_state: string
  elapsed_s: number | null
  distance_km: number | null
}

/**
 * The SQL columns of an ActivityLine, from activities `v` and accounts `a`. Casts local times to text, because the driver would convert
 * them to this machine's time zone.
 */
export const ACTIVITY_LINE = sql`v.activity_id, a.name as account, v.name, v.activity_type,
  to_char(v.started_at_local, 'YYYY-MM-DD"T"HH24:MI:SS') as started_at_local, v.detail_state, v.elapsed_s,
  v.distance as distance_km, v.avg_power, v.xss, v.breakthrough`
