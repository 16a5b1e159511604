import { eq, sql } from 'drizzle-orm'
import { SUMMARY_FIELDS } from '../../../../core/fields/activity-fields.ts'
import type { SqlRow } from '../../../../core/fields/field.ts'
import { activityMeasures } from '../../../../core/store/schema/samples.ts'
import type { Tx } from '../../../../core/store/store.ts'
import { commandFor } from '../../../../kit/errors.ts'
import { dashboardSettings } from '../../settings.ts'
import type { Sent } from '../../shared/sent.ts'
import { findAccountChoices } from '../account-choices.ts'
import { ACTIVITY_LINE, type ActivityLine } from '../activity-line.ts'
import { findSeasons } from '../fitness-now.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'
import { PLOTTED_SAMPLES } from './plotted-samples.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findActivity>

/** Finds the content of an activity's page except the samples; undefined if the activity does not exist. */
export async function findActivity(
  { store, config, downloads }: Pick<PagesApp, 'store' | 'config' | 'downloads'>,
  { activityId }: { activityId: number },
) {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    if (!facts) return undefined
    const { account_id: accountId } = facts
    const [measures] = await tx.db
      .select()
      .from(activityMeasures)
      .where(eq(activityMeasures.activityId, activityId))
    return {
      facts,
      samples_path: samplesPathOf(facts),
      season: facts.started_at_local === null ? null : Number(facts.started_at_local.slice(0, 4)),
      seasons: await findSeasons(tx, accountId),
      curve: await findCurve(tx, activityId),
      measures: measures ?? null,
      zones: (await findZones(tx, { accountId, activityId })) ?? null,
      laps: await findLaps(tx, { accountId, activityId }),
      same_route: await findSameRoute(tx, measures?.routeId),
      revisions: await findRevisions(tx, activityId),
      map_tiles: dashboardSettings.of(config).mapTiles ?? null,
      downloads: downloads.activity,
      several: (await findAccountChoices(tx)).length > 1,
      resync_command: commandFor('resync', facts.account, facts.path),
      ...(await findNeighbours(tx, activityId)),
    }
  })
}

/**
 * Returns the path of an activity's samples, below the root; null if there are none. The path contains the time when the samples were
 * fetched, so that the browser does not use an older prefetched response.
 */
export function samplesPathOf({
  activity_id: id,
  sample_count: count,
  fetched_at: fetchedAt,
}: ActivityFacts): string | null {
  return count ? `/api/activities/${id}/samples?of=${fetchedAt?.getTime()}` : null
}

type Compared = {
  season?: number | undefined
  span?: 'all' | 'recent' | undefined
  activity?: number | undefined
}

/**
 * Finds the power curve to compare an activity's curve with: the curve of another activity, or the bests of a season, of 90 days or of all
 * time. Returns undefined if one of the activities does not exist.
 */
export async function findCompared(
  { store }: Pick<PagesApp, 'store'>,
  { activityId, activity, season, span }: Compared & { activityId: number },
) {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    const other = activity === undefined ? undefined : await findActivityFacts(tx, activity)
    if (!facts || (activity !== undefined && !other)) return undefined
    if (other) {
      const from = { activity_id: other.activity_id, day: other.started_at_local?.slice(0, 10) ?? null }
      return { points: (await findCurve(tx, other.activity_id)).map((point) => ({ ...point, ...from })) }
    }
    const { account_id: accountId, sport } = facts
    const period = season !== undefined ? 'season' : span === 'recent' ? 'last 90 days' : 'all time'
    return { points: await findBestsOfSpan(tx, { accountId, sport, span: period, season: season ?? null }) }
  })
}

/** Everything about one activity except its samples. */
type ActivityFacts = SqlRow<typeof SUMMARY_FIELDS> &
  ActivityLine &
  Record<'started_at' | 'absent_since' | 'fetched_at', Date | null> & {
    account_id: number
    sport: string
    path: string
    description: string | null
    timezone: string | null
    sig_manual: boolean | null
    sig_error: string | null
    sample_count: number | null
    /** from the last training info before the start or, if there is none, from the first training info after the start */
    weight_kg: number | null
    /** the file of the drop folder from which the activity came */
    file_name: string | null
    /** whether the activity's FIT file is stored */
    has_fit: boolean
    has_positions: boolean
    fetch_error: string | null
    /** how many times the service has changed the activity */
    revisions: number
  }

const SUMMARY = Object.keys(SUMMARY_FIELDS).map((column) => sql.raw(`v.${column}`))

/** Finds one activity, even if the service no longer lists it; undefined if the id is unknown. */
export async function findActivityFacts(tx: Tx, activityId: number): Promise<ActivityFacts | undefined> {
  const [row] = await rowsOf<ActivityFacts>(tx)`
     select ${sql.join(SUMMARY, sql`, `)}, ${ACTIVITY_LINE}, v.account_id, v.sport, v.path, v.description,
       v.timezone, v.sig_manual, v.sig_error, v.started_at, v.sample_count, v.fetch_error, v.absent_since, v.fetched_at, v.start_lat is not null as has_positions,
       (select u.file_name from training.uploads u where u.activity_id = v.activity_id order by u.seen_at limit 1) as file_name,
       (select count(*)::int from training.activity_revisions r where r.activity_id = v.activity_id) as revisions,
       exists (select from training.ride_files f join training.fit_originals o using (account_id, content_id)
               where f.account_id = v.account_id and f.activity_id = v.activity_id) as has_fit,
       (select i.weight_kg from training.training_info i
        where i.account_id = v.account_id and i.weight_kg is not null
        order by i.observed_at > v.started_at, abs(extract(epoch from i.observed_at - v.started_at)) limit 1) as weight_kg
     from training.activities v join training.accounts a using (account_id)
     where v.activity_id = ${activityId}`
  return row
}

type Neighbours = { older_id: number | null; newer_id: number | null }

/** Finds the account's listed activities that started just before and just after an activity. */
export async function findNeighbours(tx: Tx, activityId: number): Promise<Neighbours> {
  const beside = (sign: '<' | '>', order: 'asc' | 'desc') =>
    sql`(select n.activity_id from training.activities n
      where n.account_id = v.account_id and n.absent_since is null
        and (n.started_at, n.activity_id) ${sql.raw(sign)} (v.started_at, v.activity_id)
      order by n.started_at ${sql.raw(order)}, n.activity_id ${sql.raw(order)} limit 1)`
  const [row] = await rowsOf<Neighbours>(tx)`
     select ${beside('<', 'desc')} as older_id, ${beside('>', 'asc')} as newer_id
     from training.activities v where v.activity_id = ${activityId}`
  return row ?? { older_id: null, newer_id: null }
}

type CurvePoint = { duration_s: number; watts: number }

/** Finds the power curve of an activity, W by duration in s. */
async function findCurve(tx: Tx, activityId: number): Promise<CurvePoint[]> {
  return rowsOf<CurvePoint>(tx)`
     select duration_s, watts::float8 as watts
     from training.power_curves where activity_id = ${activityId} order by duration_s`
}

/** A best mean power to compare with, and its activity. */
export type ComparedPoint = CurvePoint & { activity_id: number | null; day: string | null }

/** Finds an account's best mean powers in a sport and a span of power_bests, W by duration in s. */
export async function findBestsOfSpan(
  tx: Tx,
  input: {
    accountId: number
    sport: string
    span: 'season' | 'all time' | 'last 90 days'
    season: number | null
  },
): Promise<ComparedPoint[]> {
  return rowsOf<ComparedPoint>(tx)`
     select duration_s, watts::float8 as watts, activity_id, day::text as day from training.power_bests
     where account_id = ${input.accountId} and span = ${input.span} and (${input.span} <> 'season' or season = ${input.season}) and sport = ${input.sport} order by duration_s`
}

type Ids = { accountId: number; activityId: number }

/** The seconds of an activity in each zone; null if the quantity or the zone bounds are unknown. */
type Zones = Record<'ftp' | 'hr_max' | 'above_ftp_s' | 'near_mpa_s', number | null> &
  Record<'power_s' | 'hr_s', Array<number | null>>

/** Finds the seconds of an activity in each zone; undefined if the activity has no samples, or if the service no longer lists it. */
async function findZones(tx: Tx, input: Ids): Promise<Zones | undefined> {
  const [row] = await rowsOf<Zones>(tx)`
     select ftp, array[power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s] as power_s, hr_max,
       array[hr_z1_s, hr_z2_s, hr_z3_s, hr_z4_s, hr_z5_s] as hr_s, above_ftp_s, near_mpa_s
     from training.ride_intensity where account_id = ${input.accountId} and activity_id = ${input.activityId}`
  return row
}

/** A lap recorded by the head unit; `from_s` counts from the first sample. */
type Lap = { lap: number } & Record<
  'from_s' | 'elapsed_s' | 'distance_m' | 'avg_power' | 'max_power' | 'avg_hr' | 'avg_cadence',
  number | null
>

/** Finds the laps in an activity's FIT file; returns an empty list if there is no file. */
async function findLaps(tx: Tx, input: Ids): Promise<Lap[]> {
  const { rows } = await tx.client.query<Lap>(
    `select l.lap, extract(epoch from l.started_at - s.first)::float8 as from_s, l.elapsed_s, l.distance_m, l.avg_power, l.max_power,
       l.avg_hr, l.avg_cadence
     from training.ride_laps l
     left join lateral (select min(t) as first ${PLOTTED_SAMPLES}) s on true
     where l.account_id = $2 and l.activity_id = $1 order by l.lap`,
    [input.activityId, input.accountId],
  )
  return rows
}

type RouteActivity = Record<'moving_s' | 'pct' | 'mean_power' | 'xss' | 'place' | 'trend_s', number | null> &
  Pick<ComparedPoint, 'day'> & { id: number }

/**
 * Finds the activities on a route, newest first, each with its deviation from the mean time, %, its rank by time and, if the activities
 * span a year, the yearly trend, s.
 */
async function findSameRoute(tx: Tx, routeId: number | null = null): Promise<RouteActivity[]> {
  return rowsOf<RouteActivity>(tx)`
     select v.activity_id as id, v.started_at_local::date::text as day, m.moving_s, m.mean_power, v.xss,
       100 * (m.moving_s / avg(m.moving_s) over () - 1)::float8 as pct, case when m.moving_s is not null then (rank() over (order by m.moving_s))::int end as place,
       case when max(v.started_at) over () - min(v.started_at) over () >= interval '365 days' then
         regr_slope(m.moving_s, extract(epoch from v.started_at)) over () * 365.25 * 86400 end as trend_s
     from training.ride_tracks t join training.ride_measures m using (activity_id) join training.activities v using (activity_id)
     where t.route_id = ${routeId} and v.absent_since is null order by v.started_at desc, v.activity_id`
}

const MAX_REVISIONS = 20

/** A change by the service: column names with the old and the new value. */
type Revision = { observed_at: Date; changes: Readonly<Record<string, readonly unknown[]>> }

/** Finds the service's changes since the activity was first fetched, newest first. */
async function findRevisions(tx: Tx, activityId: number): Promise<Revision[]> {
  return rowsOf<Revision>(tx)`
     select observed_at, changes - 'summary_hash' as changes from training.activity_revisions
     where activity_id = ${activityId} order by observed_at desc limit ${MAX_REVISIONS}`
}
