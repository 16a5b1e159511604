import type { Tx } from '../store.ts'
import { ACTIVITY_LINE } from './overview-page.ts'
import type {
  ActivityFacts,
  ComparedPoint,
  CurvePoint,
  Lap,
  Neighbours,
  Revision,
  Zones,
} from './page-rows.ts'

/** Finds one activity, also an absent one; undefined when there is none with this id. */
export async function findActivityFacts(tx: Tx, activityId: number): Promise<ActivityFacts | undefined> {
  const { rows } = await tx.client.query<ActivityFacts>(
    `select ${ACTIVITY_LINE}, v.account_id, v.path, v.description, v.timezone, v.started_at, v.sample_count, v.max_power,
       v.prev_sig_atc, v.prev_sig_pp, v.total_grams_carbs as carbs_g, v.total_grams_fat as fat_g,
       v.max_cadence, v.total_elevation_gain as elevation_gain_m, v.total_calories as energy_kcal, v.xlss, v.xhss, v.xpss,
       v.focus, v.specificity, v.difficulty, v.difficulty_rating, v.sig_ftp, v.sig_atc, v.sig_pp, v.prev_sig_ftp, v.medal,
       v.freshness, v.fetch_error, v.next_fetch_at, v.absent_since, v.fetched_at,
       (select u.file_name from training.uploads u where u.activity_id = v.activity_id order by u.seen_at limit 1) as file_name,
       (select count(*)::int from training.activity_revisions r where r.activity_id = v.activity_id) as revisions,
       exists (select from training.ride_files f join training.fit_originals o using (account_id, content_id)
               where f.account_id = v.account_id and f.activity_id = v.activity_id) as has_fit,
       (select i.weight_kg from training.training_info i
        where i.account_id = v.account_id and i.weight_kg is not null
        order by i.observed_at > v.started_at, abs(extract(epoch from i.observed_at - v.started_at)) limit 1) as weight_kg
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

/** Finds the power curve of an activity, W, by duration in s. */
export async function findCurve(tx: Tx, activityId: number): Promise<CurvePoint[]> {
  const { rows } = await tx.client.query<CurvePoint>(
    `select duration_s, watts::float8 as watts from training.power_curves where activity_id = $1 order by duration_s`,
    [activityId],
  )
  return rows
}

/** Finds the best mean powers of an account in a span of the view power_bests, W, by duration in s. */
export async function findBestsOfSpan(
  tx: Tx,
  input: { accountId: number; span: 'season' | 'all time' | 'last 90 days'; season: number | null },
): Promise<ComparedPoint[]> {
  const { rows } = await tx.client.query<ComparedPoint>(
    `select duration_s, watts::float8 as watts, activity_id, day::text as day from training.power_bests
     where account_id = $1 and span = $2 and ($2 <> 'season' or season = $3) order by duration_s`,
    [input.accountId, input.span, input.season],
  )
  return rows
}

/** Finds the years of which an account has power curves, newest first. */
export async function findSeasons(tx: Tx, accountId: number): Promise<number[]> {
  const { rows } = await tx.client.query<{ season: number }>(
    `select distinct season from training.power_bests where account_id = $1 and season is not null order by season desc`,
    [accountId],
  )
  return rows.map(({ season }) => season)
}

/** Finds the seconds of an activity in each zone; undefined without samples, and of an absent activity. */
export async function findZones(
  tx: Tx,
  input: { accountId: number; activityId: number },
): Promise<Zones | undefined> {
  const { rows } = await tx.client.query<Zones>(
    `select ftp, array[power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s] as power_s, hr_max,
       array[hr_z1_s, hr_z2_s, hr_z3_s, hr_z4_s, hr_z5_s] as hr_s, above_ftp_s, near_mpa_s
     from training.ride_intensity where account_id = $1 and activity_id = $2`,
    [input.accountId, input.activityId],
  )
  return rows[0]
}

/** Finds the laps of an activity as the head unit wrote them; none where its FIT file is not here. */
export async function findLaps(tx: Tx, input: { accountId: number; activityId: number }): Promise<Lap[]> {
  const { rows } = await tx.client.query<Lap>(
    `select l.lap, extract(epoch from l.started_at - s.first)::float8 as from_s, l.elapsed_s, l.timer_s, l.distance_m, l.avg_power,
       l.max_power, l.avg_hr, l.max_hr, l.avg_cadence, l.trigger
     from training.ride_laps l
     left join lateral (select min(t) as first from training.samples where activity_id = $2) s on true
     where l.account_id = $1 and l.activity_id = $2 order by l.lap`,
    [input.accountId, input.activityId],
  )
  return rows
}

/** A page of changes is long already. */
const REVISIONS_SHOWN = 20

/** Finds what the service changed in an activity since it was first fetched, the last change first. */
export async function findRevisions(tx: Tx, activityId: number): Promise<Revision[]> {
  const { rows } = await tx.client.query<Revision>(
    `select observed_at, changes - 'summary_hash' as changes from training.activity_revisions
     where activity_id = $1 order by observed_at desc limit ${REVISIONS_SHOWN}`,
    [activityId],
  )
  return rows
}
