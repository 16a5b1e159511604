import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openScene, type Scene } from './scene.ts'

const HOUR_MS = 3_600_000
const DURATIONS_S = [1, 5, 77, 1_200]

// Few values, so that much ties: watts, starts, heart rates, moments.
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 })
// Their sums are exact, in whatever order they are added.
const score = some(fc.constantFrom(0, 0.25, 40))
const ride = fc.record({
  account: fc.constantFrom(0, 1, 2),
  hoursAgo: some(fc.oneof(fc.constantFrom(0, 3, 3, 27, 2_161), fc.integer({ min: 0, max: 40_000 }))),
  zone: fc.constantFrom('UTC', 'Asia/Tokyo', 'America/Los_Angeles'),
  absent: fc.nat({ max: 4 }).map((chance) => chance === 0),
  state: fc.constantFrom('mirrored', 'mirrored', 'wanted', 'awaiting_samples', 'failed'),
  error: some(fc.constantFrom('not JSON', 'no answer')),
  scores: fc.record({ xss: score, xlss: score, xhss: score, xpss: score, elapsed_s: score }),
  watts: fc.array(some(fc.constantFrom(200, 200, 210)), { minLength: DURATIONS_S.length, maxLength: 4 }),
  heart: some(fc.record({ peak: some(fc.integer({ min: 1, max: 9 })), beats: some(fc.nat({ max: 9 })) })),
  // An activity is observed once at a moment: which of two values at one comes first, no table says.
  revisions: fc.uniqueArray(
    fc.record({ minutes: fc.integer({ min: 0, max: 200 }), old: some(fc.constantFrom(50, 51)) }),
    { selector: ({ minutes }) => minutes },
  ),
})
const upload = fc.record({
  account: fc.constantFrom(0, 1, 2),
  state: fc.constantFrom('seen', 'mirrored', 'unconfirmed', 'refused'),
  reason: some(fc.constantFrom('one', 'two')),
})
const run = fc.record({
  account: fc.constantFrom(0, 1, 2),
  resource: fc.constantFrom('activities', 'workouts'),
  kind: fc.constantFrom('poll', 'backfill', 'reconcile', 'fetch'),
  outcome: fc.constantFrom('running', 'done', 'partial', 'failed'),
})
type Made<T> = T extends fc.Arbitrary<infer Value> ? Value : never

it('the views equal simple queries for any history, also with equal watts, starts and heart rates', async () => {
  const scene = await openScene()
  await scene.store.execute(plainViewStatements())
  const columns = await columnsOf(scene)
  const accounts = [await scene.account('one'), await scene.account('two'), await scene.account('three')]
  const history = fc.record({
    login: fc.constantFrom([true, 'refused'], [false, null]),
    rides: fc.array(ride, { maxLength: 30 }),
    uploads: fc.array(upload, { maxLength: 4 }),
    runs: fc.array(run, { maxLength: 12 }),
  })
  await fc.assert(
    fc.asyncProperty(history, async ({ login, rides, uploads, runs }) => {
      for (const each of rides) await record(scene, accounts[each.account] ?? 0, each)
      await scene.query(
        `update training.accounts set needs_login = $1, last_error = $2 where name <> 'two'`,
        [...login],
      )
      await scene.query(
        `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
         select account_id, n, 'f', 1, state, reason, now() - n * interval '1 hour'
         from jsonb_to_recordset($1) as made (account_id int, n int, state text, reason text)`,
        [
          JSON.stringify(
            uploads.map(({ account, ...rest }, n) => ({ account_id: accounts[account], n, ...rest })),
          ),
        ],
      )
      await scene.query(
        `insert into training.sync_runs (account_id, resource, kind, outcome, started_at, finished_at, listed, failed, error)
         select account_id, resource, kind, outcome, now() + n * interval '1 minute', now() + n * interval '2 minutes', n, n, outcome
         from jsonb_to_recordset($1) as made (account_id int, n int, resource text, kind text, outcome text)`,
        [
          JSON.stringify(
            runs.map(({ account, ...rest }, n) => ({ account_id: accounts[account], n, ...rest })),
          ),
        ],
      )
      for (const view of Object.keys(PLAIN_VIEWS)) {
        expect(await scene.query(differences(view, columns.get(view) ?? [])), view).toEqual([])
      }
      await scene.sql`truncate training.activities, training.uploads, training.sync_runs cascade`
    }),
    { numRuns: 25 },
  )
})

/** Writes an activity with what was made of it, and moves or hides it only then, as the service may. */
async function record(scene: Scene, accountId: number, made: Made<typeof ride>): Promise<void> {
  const start = made.hoursAgo === null ? null : new Date(Date.now() - made.hoursAgo * HOUR_MS).toISOString()
  const activityId = await scene.ride(accountId, '2020-05-01T12:00:00Z', { zone: made.zone, ...made.scores })
  await scene.sql`insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities, unnest(${DURATIONS_S}::int[], ${made.watts}::real[]) as curve (duration_s, watts)
     where activity_id = ${activityId} and watts is not null`
  if (made.heart) {
    const beats =
      made.heart.beats === null ? null : Array.from({ length: made.heart.beats }, (_, n) => 60 - n)
    await scene.sql`insert into training.activity_intensity
         (activity_id, ftp, power_z1_s, near_mpa_s, hr_peak, hr_at_least_s, account_id, day, month)
       select activity_id, 250, 9, 3, ${made.heart.peak}, ${beats}, account_id, started_at_local::date, date_trunc('month', started_at_local)
       from training.activities where activity_id = ${activityId}`
  }
  for (const { minutes, old } of made.revisions) {
    await scene.query(
      `insert into training.activity_revisions (activity_id, observed_at, changes)
       values ($1, '2024-06-01T00:00Z'::timestamptz + $2 * interval '1 minute', $3)`,
      [activityId, minutes, JSON.stringify({ xss: [old, 60], sig_ftp: [250, old] })],
    )
  }
  await scene.query(
    `update training.activities set started_at = $2, started_at_local = $2::timestamptz at time zone $3, absent_since = $4,
       detail_state = $5, fetch_error = $6 where activity_id = $1`,
    [activityId, start, made.zone, made.absent ? new Date() : null, made.state, made.error],
  )
}

async function columnsOf(scene: Scene): Promise<Map<string, string[]>> {
  const rows = await scene.sql`select c.relname, array_agg(a.attname::text order by a.attnum) as names
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'plain'::regnamespace and c.relkind = 'v' group by 1`
  return new Map(rows.map(({ relname, names }) => [String(relname), names as string[]]))
}

/**
 * The views that read one account at a time, restated for all accounts at once: no LATERAL from an account to its rows, no
 * index in mind, no column that a trigger keeps. Slow, and to be compared with the ones that the schema has.
 */
const PLAIN_VIEWS: Readonly<Record<string, string>> = {
  today: `
    select account_id, now() at time zone timezone - now() at time zone 'UTC' as utc_offset,
      (now() at time zone timezone)::date as day, timezone, timezone_source
    from (
      select distinct on (a.account_id) a.account_id, coalesce(a.timezone, v.timezone, 'UTC') as timezone,
        case when a.timezone is not null then 'setting' when v.activity_id is null then 'unknown'
          else v.timezone_source end as timezone_source
      from training.accounts a
      left join training.activities v on v.account_id = a.account_id and v.absent_since is null and v.started_at is not null
      order by a.account_id, v.started_at desc
    ) newest`,

  daily_load: `
    with ride as (
      select *, started_at_local::date as day from training.activities
      where absent_since is null and started_at_local is not null
    ), calendar as (
      select account_id,
        generate_series(min(r.day)::timestamp, greatest(max(r.day), t.day)::timestamp, interval '1 day')::date as day
      from ride r join plain.today t using (account_id) group by account_id, t.day
    )
    select c.account_id, c.day, count(r.activity_id)::int as activities,
      case when count(r.activity_id) = 0 then 0 else sum(xlss) end as low_xss,
      case when count(r.activity_id) = 0 then 0 else sum(xhss) end as high_xss,
      case when count(r.activity_id) = 0 then 0 else sum(xpss) end as peak_xss,
      case when count(r.activity_id) = 0 then 0 else sum(xss) end as xss,
      count(r.activity_id) filter (where xss is null)::int as without_xss
    from calendar c left join ride r on r.account_id = c.account_id and r.day = c.day
    group by c.account_id, c.day`,

  weekly_summary: `
    select account_id, date_trunc('week', started_at_local)::date as week, activity_type, count(*)::int as activities,
      sum(elapsed_s) as elapsed_s, sum(distance) as distance, sum(total_calories) as total_calories,
      sum(total_elevation_gain) as total_elevation_gain,
      sum(xlss) as low_xss, sum(xhss) as high_xss, sum(xpss) as peak_xss, sum(xss) as xss
    from training.activities
    where absent_since is null and started_at_local is not null
    group by 1, 2, 3`,

  totals: `
    with ride as (
      select account_id, sport, started_at_local::date as day, distance, elapsed_s, xss from training.activities
      where absent_since is null and started_at_local is not null
    ), held as (
      select 'month' as span, date_trunc('month', day)::date as first_day, * from ride
      union all
      select 'season', date_trunc('year', day)::date, * from ride
      union all
      select 'season to date', date_trunc('year', ride.day)::date, ride.* from ride join plain.today t using (account_id)
      where (date_part('month', ride.day), date_part('day', ride.day)) <= (date_part('month', t.day), date_part('day', t.day))
    )
    select account_id, sport, span, first_day, count(*)::int as activities, count(distinct day)::int as days,
      sum(distance) as distance, sum(elapsed_s) as elapsed_s, sum(xss) as xss
    from held group by 1, 2, 3, 4`,

  streaks: `
    with ridden as (
      select distinct account_id, sport, unit, days, case unit when 'day' then day else date_trunc('week', day)::date end as day
      from training.activities, (values ('day', 1), ('week', 7)) u (unit, days), lateral (select started_at_local::date as day) d
      where absent_since is null and started_at_local is not null
    )
    select r.account_id, r.sport, r.unit, (last - r.day) / days + 1 as length, r.day as first_day, last + days - 1 as last_day,
      last >= case unit when 'day' then t.day - 1 else date_trunc('week', t.day)::date - 7 end as is_current
    from ridden r join plain.today t using (account_id)
    cross join lateral (
      select min(e.day) as last from ridden e
      where (e.account_id, e.sport, e.unit) = (r.account_id, r.sport, r.unit) and e.day >= r.day and not exists (
        select from ridden n where (n.account_id, n.sport, n.unit, n.day) = (e.account_id, e.sport, e.unit, e.day + e.days))
    ) e
    where not exists (
      select from ridden b where (b.account_id, b.sport, b.unit, b.day) = (r.account_id, r.sport, r.unit, r.day - r.days))`,

  power_bests: `
    with point as (
      select a.account_id, date_part('year', a.started_at_local)::int as year, c.duration_s, c.watts, c.activity_id,
        a.started_at_local, a.started_at_local::date as day, a.sport
      from training.power_curves c join training.activities a using (activity_id)
      where a.absent_since is null and a.started_at_local is not null
        and c.duration_s <> 77 -- which is none of the durations that the view knows
    ), held as (
      select 'all time' as span, null::int as season, point.* from point
      union all
      select 'season', year, point.* from point
      union all
      select 'last 90 days', null, point.* from point join plain.today t using (account_id)
      where point.day between t.day - 89 and t.day
    )
    select distinct on (account_id, sport, span, season, duration_s)
      account_id, sport, span, season, duration_s, watts, activity_id, day
    from held
    order by account_id, sport, span, season, duration_s, watts desc, started_at_local, activity_id`,

  ride_intensity: `
    with ride as (
      select i.*, a.account_id as owner, a.started_at_local::date as start_day, date_trunc('month', a.started_at_local) as start_month
      from training.activity_intensity i join training.activities a using (activity_id)
      where a.absent_since is null
    ), highest as (
      select r.activity_id, max(other.hr_peak) as hr_max
      from ride r join ride other on other.owner = r.owner
        and other.start_month between r.start_month - interval '12 months' and r.start_month
      group by r.activity_id
    ), bordered as (
      select r.*, h.hr_max, case when h.hr_max is not null then r.hr_at_least_s end as beats,
        (h.hr_max * 6 + 9) / 10 as b60, (h.hr_max * 7 + 9) / 10 as b70, (h.hr_max * 8 + 9) / 10 as b80, (h.hr_max * 9 + 9) / 10 as b90
      from ride r left join highest h using (activity_id)
    ), counted as (
      select *, case when beats is not null then coalesce(beats[b60], 0) end as s60,
        case when beats is not null then coalesce(beats[b70], 0) end as s70,
        case when beats is not null then coalesce(beats[b80], 0) end as s80,
        case when beats is not null then coalesce(beats[b90], 0) end as s90
      from bordered
    )
    select owner as account_id, activity_id, start_day as day, ftp,
      power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s, hr_max,
      beats[1] - s60 as hr_z1_s, s60 - s70 as hr_z2_s, s70 - s80 as hr_z3_s, s80 - s90 as hr_z4_s, s90 as hr_z5_s,
      near_mpa_s, above_ftp_s, hr_peak, sample_spacing_s
    from counted`,

  zones_by_week: `
    select account_id, date_trunc('week', day::timestamp)::date as week, count(*)::int as activities,
      sum(power_z1_s)::int as power_z1_s, sum(power_z2_s)::int as power_z2_s, sum(power_z3_s)::int as power_z3_s,
      sum(power_z4_s)::int as power_z4_s, sum(power_z5_s)::int as power_z5_s, sum(power_z6_s)::int as power_z6_s,
      sum(power_z7_s)::int as power_z7_s, sum(hr_z1_s)::int as hr_z1_s, sum(hr_z2_s)::int as hr_z2_s,
      sum(hr_z3_s)::int as hr_z3_s, sum(hr_z4_s)::int as hr_z4_s, sum(hr_z5_s)::int as hr_z5_s,
      sum(near_mpa_s)::int as near_mpa_s, sum(above_ftp_s)::int as above_ftp_s
    from plain.ride_intensity
    where day is not null
    group by 1, 2`,

  mirror_health: `
    with activity as (
      select account_id, detail_state, count(*) as count, min(wanted_at) as since,
        (array_agg(fetch_error order by wanted_at desc) filter (where fetch_error is not null))[1] as error
      from training.activities where absent_since is null group by 1, 2
    ), ridden as (
      select distinct account_id, date_trunc('month', started_at_local)::date as month
      from training.activities where absent_since is null and started_at_local is not null
    ), good as (
      select distinct on (account_id, kind) * from training.sync_runs
      where resource = 'activities' and outcome in ('done', 'partial') order by account_id, kind, started_at desc
    ), ended as (
      select distinct on (account_id) * from training.sync_runs
      where resource = 'activities' and kind = 'reconcile' and outcome <> 'running' order by account_id, started_at desc
    ), latest as (
      select distinct on (account_id, resource, kind) * from training.sync_runs
      order by account_id, resource, kind, started_at desc
    ), item as (
      select account_id, 'needs login' as item, null::date as month, case when needs_login then 1 else 0 end as count,
        null::timestamptz as at, last_error as detail
      from training.accounts
      union all
      select a.account_id, 'last good poll', null, null, max(good.finished_at), null
      from training.accounts a left join good on good.account_id = a.account_id and good.kind in ('poll', 'backfill')
      group by 1
      union all
      select a.account_id, 'last reconcile', null, good.listed, good.finished_at, ended.error
      from training.accounts a left join good on good.account_id = a.account_id and good.kind = 'reconcile'
      left join ended on ended.account_id = a.account_id
      union all
      select a.account_id, 'activities ' || replace(state, '_', ' '), null, coalesce(activity.count, 0),
        case when state <> 'mirrored' then activity.since end, case when state <> 'mirrored' then activity.error end
      from training.accounts a
      cross join unnest('{mirrored, wanted, awaiting_samples, failed}'::text[]) as state
      left join activity on activity.account_id = a.account_id and activity.detail_state = state
      union all
      select a.account_id, 'uploads on their way', null, count(u.state), min(u.seen_at),
        (array_agg(u.reason order by u.seen_at desc) filter (where u.reason is not null))[1]
      from training.accounts a
      left join training.uploads u on u.account_id = a.account_id and u.state in ('seen', 'sending', 'unconfirmed', 'accepted')
      group by 1
      union all
      select account_id, 'month without activities', month, 0, null, null
      from (
        select account_id, generate_series(min(month)::timestamp, day::timestamp, interval '1 month')::date as month
        from ridden join plain.today using (account_id) group by account_id, day
        except select account_id, month from ridden
      ) missing
      union all
      select account_id, 'last run of ' || resource || ' ' || kind, null, failed, started_at, concat_ws(': ', outcome, error)
      from latest where account_id is not null
    )
    select account_id, a.name as account, i.item, i.month, i.count, i.at, i.detail
    from item i join training.accounts a using (account_id)`,

  recalculations: `
    with revision as (
      select a.account_id, a.activity_id, a.started_at_local::date as day, r.observed_at,
        (r.changes #>> '{xss,0}')::float8 as xss_before, (r.changes #>> '{xss,1}')::float8 as xss_after,
        (r.changes #>> '{sig_ftp,0}')::float8 as ftp_before, (r.changes #>> '{sig_ftp,1}')::float8 as ftp_after
      from training.activity_revisions r join training.activities a using (activity_id)
      where a.absent_since is null and exists (
        select from unnest('{xss, sig_ftp, sig_pp, tl_ftp}'::text[]) as field
        where r.changes #>> array[field, '0'] is not null and r.changes #>> array[field, '1'] is not null)
    ), begun as (
      select *, observed_at - lag(observed_at) over (partition by account_id order by observed_at) <= interval '1 hour' as goes_on
      from revision
    ), pass as (
      select *, count(*) filter (where goes_on is not true) over (partition by account_id order by observed_at) as number
      from begun
    ), changed as (
      select account_id, number, activity_id, day, min(observed_at) as observed_from, max(observed_at) as observed_to,
        (array_agg(xss_before order by observed_at) filter (where xss_before + xss_after is not null))[1] as xss_before,
        (array_agg(xss_after order by observed_at desc) filter (where xss_before + xss_after is not null))[1] as xss_after,
        (array_agg(ftp_before order by observed_at) filter (where ftp_before + ftp_after is not null))[1] as ftp_before,
        (array_agg(ftp_after order by observed_at desc) filter (where ftp_before + ftp_after is not null))[1] as ftp_after
      from pass group by 1, 2, 3, 4
    )
    select account_id, (min(observed_from) at time zone timezone)::date as day_observed,
      count(*)::int as activities,
      sum(xss_before) as xss_before, sum(xss_after) as xss_after, sum(xss_after) - sum(xss_before) as xss_change,
      avg(ftp_before) as ftp_before, avg(ftp_after) as ftp_after,
      min(changed.day) as first_ride, max(changed.day) as last_ride, min(observed_from) as observed_from, max(observed_to) as observed_to
    from changed join plain.today using (account_id)
    group by account_id, number, timezone
    having count(*) >= 5`,
}

/** Makes the statements that put these views into a schema of their own. */
function plainViewStatements(): string {
  const views = Object.entries(PLAIN_VIEWS).map(([name, text]) => `create view plain.${name} as ${text}`)
  return ['create schema plain', ...views].join(';\n')
}

/** Makes the query for the rows that only one of a view's two versions has, by the columns of the plain one. */
function differences(view: string, columns: readonly string[]): string {
  const rows = (schema: string) =>
    `select ${columns.map((name) => `"${name}"`).join(', ')} from ${schema}.${view}`
  const only = (one: string, other: string) => `(${rows(one)} except all ${rows(other)})`
  return `${only('training', 'plain')} union all ${only('plain', 'training')}`
}
