import pg from 'pg'
import type { Store } from '../../../../src/core/store/store.ts'
import { makeSqlTag } from '../../../kit/postgres.ts'
import { readWords } from '../../../kit/table.ts'
import { type AtEnd, makeAccount, openTestStore } from '../open.ts'

/** The names of all views of the schema. */
export const VIEWS = readWords(`
  changes_settled daily_load fit_field_values fitness_history form_by_day form_history form_now form_today mirror_health
  planned_load power_bests recalculations recommended_load recommended_weeks records ride_events ride_files ride_intensity ride_laps
  ride_lengths ride_overview ride_profiles ride_records ride_records_float8 ride_rr_intervals ride_samples ride_time_in_zones ride_tracks
  routes sample_extra_values samples_float8 streaks this_week today totals upload_journey weekly_summary zones_by_week`)

/** Returns the day that is `days` after another, `YYYY-MM-DD`. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

export type Row = Record<string, unknown>

export type Scene = Awaited<ReturnType<typeof openScene>>

/** Opens a migrated database without a service, in which a test writes its own accounts and rides. */
export async function openScene(atEnd?: AtEnd) {
  const { store, url } = await openTestStore(atEnd)
  return {
    store,
    url,
    query: (text: string, values: unknown[] = []) => query(store, text, values),
    /** the rows of a query that is written as a template with its values */
    sql: makeSqlTag((text, values) => query(store, text, values)),
    /** the rows of a view, days as texts */
    view: (name: string, rest = '') => query(store, `select * from training.${name} ${rest}`),
    account: (name?: string) => makeAccount(store, name),
    ride: (accountId: number, startedAt: string, more: Ride = {}) =>
      makeRide(store, accountId, startedAt, more),
  }
}

/** Columns of `training.activities`; `zone` is the time zone of the start, UTC by default. */
export type Ride = Row & { zone?: string }

let rides = 0

async function makeRide(store: Store, accountId: number, startedAt: string, ride: Ride): Promise<number> {
  const { zone = 'UTC', ...columns } = ride
  rides++
  const named = { path: `ride${rides}`, name: `Ride ${rides}`, activity_type: 'Cycling' }
  const row = { ...named, detail_state: 'mirrored', ...columns }
  const names = Object.keys(row)
  const [made] = await query(
    store,
    `insert into training.activities (account_id, started_at, timezone, started_at_local, listed_at, wanted_at,
       ${names.map((name) => `"${name}"`).join(', ')})
     values ($1, $2, $3, $2::timestamptz at time zone $3, now(), now(),
       ${names.map((_, index) => `$${index + 4}`).join(', ')}) returning activity_id`,
    [accountId, startedAt, zone, ...Object.values(row)],
  )
  return Number(made?.activity_id)
}

async function query(store: Store, text: string, values: unknown[] = []): Promise<Row[]> {
  return await store.transaction(async (tx) => {
    const answer = await tx.client.query<Row>({ text, values, types: { getTypeParser } })
    return answer.rows
  })
}

const DATE_OID = 1082

// Reads a day as text, so that the time zone of the machine does not matter.
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === DATE_OID ? String : pg.types.getTypeParser(oid, format)
}
