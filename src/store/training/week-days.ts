import type { Tx } from '../store.ts'

/** A day of the week: the load, and the recommended one, see the view recommended_load. */
export type WeekDay = {
  day: string
  activities: number
  elapsed_s: number
  distance_km: number
  xss: number
  recommended_xss: number | null
}

/**
 * Finds the seven days of an account's week, Monday first: what was done, and the load that the service recommended; null before
 * the first training info.
 */
export async function findWeekDays(tx: Tx, accountId: number): Promise<WeekDay[]> {
  const { rows } = await tx.client.query<WeekDay>(
    `with recommended as materialized (select day, xss from training.recommended_load where account_id = $1)
     select d.day::date::text as day, v.activities, v.elapsed_s, v.distance_km, v.xss,
       (select r.xss from recommended r where r.day = d.day) as recommended_xss
     from training.today t
     cross join generate_series(0, 6) n
     cross join lateral (select date_trunc('week', t.day::timestamp) + n * interval '1 day' as day) d
     cross join lateral (
       select count(*)::int as activities, coalesce(sum(a.elapsed_s), 0)::float8 as elapsed_s,
         coalesce(sum(a.distance), 0)::float8 as distance_km, coalesce(sum(a.xss), 0)::float8 as xss
       from training.activities a
       where a.account_id = $1 and a.absent_since is null and a.started_at_local >= d.day
         and a.started_at_local < d.day + interval '1 day'
         -- no local time is further from UTC, and started_at has an index
         and a.started_at >= (d.day - interval '1 day') at time zone 'UTC' and a.started_at < (d.day + interval '2 days') at time zone 'UTC'
     ) v
     where t.account_id = $1 order by d.day`,
    [accountId],
  )
  return rows
}
