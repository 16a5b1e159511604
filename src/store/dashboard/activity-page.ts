import type { Tx } from '../store.ts'
import { ACTIVITY_LINE } from './overview-page.ts'
import type { ActivityFacts, CurvePoint, Neighbours, SampleColumns } from './page-rows.ts'

/** Finds one activity, also an absent one; undefined when there is none with this id. */
export async function findActivityFacts(tx: Tx, activityId: number): Promise<ActivityFacts | undefined> {
  const { rows } = await tx.client.query<ActivityFacts>(
    `select ${ACTIVITY_LINE}, v.account_id, v.path, v.description, v.timezone, v.started_at, v.sample_count, v.max_power,
       v.max_cadence, v.total_elevation_gain as elevation_gain_m, v.total_calories as energy_kcal, v.xlss, v.xhss, v.xpss,
       v.focus, v.specificity, v.difficulty, v.difficulty_rating, v.sig_ftp, v.sig_atc, v.sig_pp, v.prev_sig_ftp, v.medal,
       v.freshness, v.fetch_error, v.next_fetch_at, v.absent_since, v.fetched_at,
       (select u.file_name from training.uploads u where u.activity_id = v.activity_id order by u.seen_at limit 1) as file_name,
       (select count(*)::int from training.activity_revisions r where r.activity_id = v.activity_id) as revisions
     from training.activities v join training.accounts a using (account_id)
     where v.activity_id = $1`,
    [activityId],
  )
  return rows[0]
}

/** Finds the listed activities of the same account that started just before and just after one. */
export async function findNeighbours(tx: Tx, activityId: number): Promise<Neighbours> {
  const beside = (sign: '<' | '>', order: 'asc' | 'desc') =>
    `(select n.activity_id from training.activities n
      where n.account_id = v.account_id and n.absent_since is null
        and (n.started_at, n.activity_id) ${sign} (v.started_at, v.activity_id)
      order by n.started_at ${order}, n.activity_id ${order} limit 1)`
  const { rows } = await tx.client.query<Neighbours>(
    `select ${beside('<', 'desc')} as older_id, ${beside('>', 'asc')} as newer_id
     from training.activities v where v.activity_id = $1`,
    [activityId],
  )
  return rows[0] ?? { older_id: null, newer_id: null }
}

/** Finds the power curve of an activity and the best of its season, W, by duration in s; either may lack a point. */
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

/** Finds an activity's samples as columns for a plot; samples without a time are left out. */
export async function findSampleColumns(tx: Tx, activityId: number): Promise<SampleColumns> {
  const { rows } = await tx.client.query<[number, number | null, number | null, number | null]>({
    text: `select extract(epoch from t - min(t) over ())::float8, round(power::numeric)::int, round(mpa::numeric)::int,
             round(hr::numeric)::int
           from training.samples where activity_id = $1 and t is not null order by t`,
    values: [activityId],
    rowMode: 'array',
  })
  const columns: SampleColumns = { elapsed_s: [], power: [], mpa: [], hr: [] }
  for (const [elapsedS, power, mpa, hr] of rows) {
    columns.elapsed_s.push(elapsedS)
    columns.power.push(power)
    columns.mpa.push(mpa)
    columns.hr.push(hr)
  }
  return columns
}
