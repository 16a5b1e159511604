import type { Recipe } from './recipe.ts'

/** Questions about the whole history. */
export const HISTORY: readonly Recipe[] = [
  {
    number: 9,
    name: 'longest_rides',
    question: 'What were my longest rides?',
    sql: `
      select c.name as account, a.started_at_local::date as day, a.name, round((a.elapsed_s / 3600)::numeric, 2) as hours,
        round(a.distance::numeric, 1) as km, round(a.total_elevation_gain) as climbed, round(a.avg_power) as avg_power_w,
        round(a.xss) as xss
      from training.accounts c
      cross join lateral (
        select * from training.activities v
        where v.account_id = c.account_id and v.absent_since is null and v.elapsed_s is not null
        order by v.elapsed_s desc, v.activity_id limit 5
      ) a
      order by c.name, a.elapsed_s desc, a.activity_id;`,
    reading: `
      From the first sample to the last, with breaks. Order by \`distance\` or \`xss\`, in both places, to rank them by distance or
      strain.`,
  },
  {
    number: 10,
    name: 'gaps_in_the_record',
    question: 'Where are the gaps in my record?',
    sql: `
      select c.name as account, gap.*
      from training.accounts c
      cross join lateral (
        select min(day) as first_day, max(day) as last_day, max(day) - min(day) + 1 as days
        from (
          select day, activities, sum(activities) over (order by day) as rides_so_far
          from training.daily_load l where l.account_id = c.account_id
        ) d
        where activities = 0 group by rides_so_far
        order by days desc, first_day desc limit 6
      ) gap
      order by c.name, gap.days desc, gap.first_day desc;`,
    reading: `
      Days in a row without any activity, longest first. If you know that you rode on such a day, \`musette sync --full\` compares
      everything with the service.`,
  },
  {
    number: 17,
    name: 'weight_and_power',
    question: 'What do I weigh, and how many watts per kilogram?',
    sql: `
      select t.account, training.local_day(i.last_seen_at, t.timezone) as as_of, i.weight_kg, round(i.ftp) as ftp_w,
        round((i.ftp / nullif(i.weight_kg, 0))::numeric, 2) as ftp_w_per_kg,
        round((b.best_5_min / nullif(i.weight_kg, 0))::numeric, 2) as best_5_min_w_per_kg
      from training.today t
      cross join lateral (
        select * from training.training_info where training_info.account_id = t.account_id order by observed_at desc limit 1
      ) i
      left join lateral (
        select max(watts) as best_5_min from training.power_bests b
        where b.account_id = t.account_id and b.span = 'last 90 days' and b.sport = 'cycling' and b.duration_s = 300
      ) b on true
      order by t.account;`,
    reading: `
      The weight is the service's; without one the last two columns are empty. \`training_info\` has a row for each change of any of its
      values.`,
  },
  {
    number: 20,
    name: 'this_year_so_far',
    question: 'How far did I get this year, against the years before?',
    sql: `
      select t.account, training.season_of(a.started_at_local::date) as year, count(*)::int as activities, round(sum(a.distance)) as km,
        round(sum(a.elapsed_s) / 3600) as hours, round(sum(a.total_elevation_gain)) as climbed, round(sum(a.xss)) as xss
      from training.activities a join training.today t using (account_id)
      where a.absent_since is null and to_char(a.started_at_local, 'MMDD') <= to_char(t.day, 'MMDD')
      group by 1, 2 order by 1, 2;`,
    reading: `
      Each year up to the same day of the calendar, with runs. The first year begins with your first ride.`,
  },
]
