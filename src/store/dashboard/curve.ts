import type { Tx } from '../store.ts'

export type CurvePoint = {
  duration_s: number
  watts: number | null
  best_watts: number | null
  best_activity_id: number | null
  best_day: string | null
}

/** Finds an activity's power curve beside the best of its season, by duration; either may lack a point. */
export async function findCurve(
  tx: Tx,
  input: { activityId: number; accountId: number; season: number | null },
): Promise<CurvePoint[]> {
  const { rows } = await tx.client.query<CurvePoint>(
    `select duration_s, c.watts::float8 as watts, b.watts::float8 as best_watts, b.activity_id as best_activity_id,
       b.day::text as best_day
     from (select duration_s, watts from training.power_curves where activity_id = $1) c
     full join (
       select duration_s, watts, activity_id, day from training.power_bests
       where account_id = $2 and span = 'season' and season = $3
     ) b using (duration_s)
     order by duration_s`,
    [input.activityId, input.accountId, input.season],
  )
  return rows
}

export type BestPoint = {
  duration_s: number
  all_time: number | null
  season: number | null
  last_90_days: number | null
}

/** Finds an account's best mean powers of all time, of this season and of the last 90 days, by duration, W. */
export async function findBests(tx: Tx, accountId: number): Promise<BestPoint[]> {
  const { rows } = await tx.client.query<BestPoint>(
    `select duration_s, max(watts) filter (where span = 'all time')::float8 as all_time,
       max(watts) filter (where span = 'season' and season = (select extract(year from day) from training.today where account_id = $1))::float8 as season,
       max(watts) filter (where span = 'last 90 days')::float8 as last_90_days
     from training.power_bests where account_id = $1
     group by duration_s order by duration_s`,
    [accountId],
  )
  return rows
}
