import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openScene, type Scene } from './scene.ts'

const HOUR_MS = 3_600_000
const DURATIONS_S = [1, 5, 77, 1_200]

// Few values, so that watts, starts and heart rates often tie.
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 })
// Sums of these scores are exact in any order.
const score = some(fc.constantFrom(0, 0.25, 40))
const ride = fc.record({
  account: fc.constantFrom(0, 1, 2),
  hoursAgo: some(fc.oneof(fc.constantFrom(0, 3, 3, 27, 2_161), fc.integer({ min: 0, max: 40_000 }))),
  zone: fc.constantFrom('UTC', 'Asia/Tokyo', 'America/Los_Angeles'),
  type: fc.constantFrom('Cycling', 'Running'),
  absent: fc.nat({ max: 4 }).map((chance) => chance === 0),
  scores: fc.record({ xss: score, xlss: score, xhss: score, xpss: score, elapsed_s: score }),
  watts: fc.array(some(fc.constantFrom(200, 200, 210)), { minLength: DURATIONS_S.length, maxLength: 4 }),
  heart: some(fc.record({ peak: some(fc.integer({ min: 1, max: 9 })), beats: some(fc.nat({ max: 9 })) })),
})
type Ride = typeof ride extends fc.Arbitrary<infer Made> ? Made : never

it('views that use an index equal simple queries for any history, even with ties', async () => {
  const scene = await openScene()
  await scene.store.execute(plainViewStatements())
  const columns = await columnsOf(scene)
  const accounts = [await scene.account('one'), await scene.account('two'), await scene.account('three')]
  await scene.sql`update training.accounts set timezone = 'Pacific/Kiritimati', timezone_set_by = 'account' where name = 'two'`
  await scene.sql`update training.accounts set max_hr = 100 where name = 'three'`
  await fc.assert(
    fc.asyncProperty(fc.array(ride, { maxLength: 30 }), async (rides) => {
      for (const each of rides) await record(scene, accounts[each.account] ?? 0, each)
      for (const view of Object.keys(PLAIN_VIEWS)) {
        expect(await scene.query(differences(view, columns.get(view) ?? [])), view).toEqual([])
      }
      await scene.sql`truncate training.activities cascade`
    }),
    { numRuns: 25 },
  )
})

/** Writes an activity with its derived rows, and only then moves or hides it, as the service may. */
async function record(scene: Scene, accountId: number, made: Ride): Promise<void> {
  const start = made.hoursAgo === null ? null : new Date(Date.now() - made.hoursAgo * HOUR_MS).toISOString()
  const activityId = await scene.ride(accountId, '2020-05-01T12:00:00Z', { zone: made.zone, ...made.scores })
  await scene.sql`insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities, unnest(${DURATIONS_S}::int[], ${made.watts}::real[]) as curve (duration_s, watts)
     where activity_id = ${activityId} and watts is not null`
  if (made.heart) {
    const beats =
      made.heart.beats === null ? null : Array.from({ length: made.heart.beats * 10 }, (_, n) => 100 - n)
    await scene.sql`insert into training.activity_intensity
         (activity_id, ftp, power_z1_s, near_mpa_s, hr_peak, hr_at_least_s, account_id, day, month)
       select activity_id, 250, 9, 3, ${made.heart.peak}, ${beats}, account_id, started_at_local::date, date_trunc('month', started_at_local)
       from training.activities where activity_id = ${activityId}`
  }
  await scene.query(
    `update training.activities set started_at = $2, started_at_local = $2::timestamptz at time zone $3, absent_since = $4,
       activity_type = $5 where activity_id = $1`,
    [activityId, start, made.zone, made.absent ? new Date() : null, made.type],
  )
}

async function columnsOf(scene: Scene): Promise<Map<string, string[]>> {
  const rows = await scene.sql`select c.relname, array_agg(a.attname::text order by a.attnum) as names
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'plain'::regnamespace and c.relkind = 'v' group by 1`
  return new Map(rows.map(({ relname, names }) => [String(relname), names as string[]]))
}

/**
 * The views that read one account at a time, restated for all accounts at once: without LATERAL from an account to its rows, and without
 * columns that serve an index or that a trigger keeps. They are slow, and are compared with the views of the schema.
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
      select r.activity_id, max(other.hr_peak) as highest
      from ride r join ride other on other.owner = r.owner
        and other.start_month between r.start_month - interval '12 months' and r.start_month
      group by r.activity_id
    ), bordered as (
      select r.*, hr_max, case when hr_max is not null then r.hr_at_least_s end as beats,
        (hr_max * 6 + 9) / 10 as b60, (hr_max * 7 + 9) / 10 as b70, (hr_max * 8 + 9) / 10 as b80, (hr_max * 9 + 9) / 10 as b90
      from ride r join training.accounts a on a.account_id = r.owner left join highest h using (activity_id),
        lateral (select coalesce(a.max_hr, h.highest) as hr_max) hr
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
}

/** Makes the statements that create these views in a separate schema. */
function plainViewStatements(): string {
  const views = Object.entries(PLAIN_VIEWS).map(([name, text]) => `create view plain.${name} as ${text}`)
  return ['create schema plain', ...views].join(';\n')
}

/** Makes the query for the rows that only one of a view's two versions has, by the columns of the plain version. */
function differences(view: string, columns: readonly string[]): string {
  const rows = (schema: string) =>
    `select ${columns.map((name) => `"${name}"`).join(', ')} from ${schema}.${view}`
  const only = (one: string, other: string) => `(${rows(one)} except all ${rows(other)})`
  return `${only('training', 'plain')} union all ${only('plain', 'training')}`
}
