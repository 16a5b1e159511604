import type { Recipe } from './recipe.ts'

/** Questions about load, zones and files. */
export const MORE: readonly Recipe[] = [
  {
    number: 21,
    name: 'rides_near_a_place',
    question: 'Which rides began near a place, and which only came near it?',
    sql: `
      with place as (select box(point(-79.42, 43.63), point(-79.34, 43.67)) as box)
      select c.name as account, case when point(a.start_lng, a.start_lat) <@ p.box then 'began there' else 'may have passed' end as how,
        count(*)::int as rides, max(a.started_at_local)::date as last_ride, round(sum(a.distance)) as km
      from place p
      join training.activities a on box(point(a.west, a.south), point(a.east, a.north)) && p.box
      join training.accounts c using (account_id)
      where a.absent_since is null
      group by 1, 2 order by 1, 2;`,
    reading: `
      Write two corners of the place, each as longitude and latitude. Both conditions are served by an index, so that it takes
      milliseconds. The box of a ride is wider than its way: to be sure that it passed, look for \`lat\` and \`lng\` in its \`samples\`.`,
  },
  {
    number: 22,
    name: 'recommended_load',
    question: 'Did I do the load that the service recommended?',
    sql: `
      select t.account, w.*
      from training.today t
      cross join lateral (
        select date_trunc('week', d.day)::date as week, count(*)::int as days, round(sum(told.target_total)) as recommended_xss,
          round(sum(d.xss)) as done_xss, round(sum(d.xss) - sum(told.target_total)) as difference
        from training.daily_load d
        cross join lateral (
          select i.target_total from training.training_info i
          where i.account_id = t.account_id and i.target_total is not null
            and (i.observed_at at time zone t.timezone)::date <= d.day
            and (i.last_seen_at at time zone t.timezone)::date >= d.day
          order by i.observed_at limit 1
        ) told
        where d.account_id = t.account_id
        group by 1 order by 1 desc limit 8
      ) w
      order by t.account, w.week desc;`,
    reading: `
      Only days on which musette asked: \`days\` counts them. The recommendation of a day is the first that the service told on it,
      because it falls when the ride of the day is in.`,
  },
  {
    number: 23,
    name: 'watts_per_heartbeat',
    question: 'How many watts does a heartbeat give, month by month?',
    sql: `
      select c.name as account, m.*
      from training.accounts c
      cross join lateral (
        select to_char(a.started_at_local, 'YYYY-MM') as month, count(*)::int as rides, round(avg(a.avg_power)) as avg_power_w,
          round(avg(hr.mean)) as avg_hr, training.round(avg(a.avg_power / hr.mean), 2) as watts_per_beat
        from training.activities a
        join training.activity_intensity i using (activity_id)
        cross join lateral (
          select sum(s)::float8 / i.hr_at_least_s[1] as mean from unnest(i.hr_at_least_s) as s
        ) hr
        where a.account_id = c.account_id and a.absent_since is null and a.elapsed_s >= 3600 and a.avg_power > 0 and hr.mean > 0
        group by 1 order by 1 desc limit 12
      ) m
      order by c.name, m.month desc;`,
    reading: `
      Rides of an hour or more. The mean heart rate comes from \`hr_at_least_s\`, which was counted when the samples came, so that no
      sample is read: \`watts_per_beat\` is W by beats a minute.`,
  },
  {
    number: 24,
    name: 'power_after_work',
    question: 'What is left after 1,500 and 2,000 kJ?',
    sql: `
      with ride as (
        select c.name as account, a.activity_id, a.spacing_s
        from training.accounts c
        cross join lateral (
          select activity_id, i.sample_spacing_s as spacing_s
          from training.activities v join training.activity_intensity i using (activity_id)
          where v.account_id = c.account_id and v.absent_since is null and v.avg_power * v.elapsed_s >= 1500000
          order by v.started_at desc limit 100
        ) a
      ), second as (
        select r.account, r.activity_id, s.t, s.joules, sum(s.joules) over (partition by r.activity_id order by s.t) / 1000 as kj
        from ride r
        cross join lateral (
          select t, coalesce(p_raw, power, 0)::float8 * r.spacing_s as joules
          from training.samples where samples.activity_id = r.activity_id offset 0
        ) s
      ), tired as (
        select s.account, k.after_kj, s.activity_id, s.t - min(s.t) over ride as since, sum(s.joules) over five / 300 as five,
          sum(s.joules) over twenty / 1200 as twenty
        from second s join (values (1500), (2000)) as k (after_kj) on s.kj >= k.after_kj
        window ride as (partition by k.after_kj, s.activity_id),
          five as (partition by k.after_kj, s.activity_id order by s.t range between '299 s' preceding and current row),
          twenty as (partition by k.after_kj, s.activity_id order by s.t range between '1199 s' preceding and current row)
      )
      select account, after_kj, count(distinct activity_id)::int as rides,
        round(max(five) filter (where since >= '299 s')) as best_5_min_w,
        round(max(twenty) filter (where since >= '1199 s')) as best_20_min_w
      from tired group by 1, 2 order by 1, 2;`,
    reading: `
      The best 5 and 20 minutes that began after so much work, of the last 100 rides with 1,500 kJ or more. A sample counts for the
      usual seconds until the next one, and recording gaps count as zero. It reads every sample of these rides: seconds, not milliseconds.`,
  },
  {
    number: 25,
    name: 'fuel_of_long_rides',
    question: 'How much carbohydrate and fat does a long ride burn in an hour?',
    sql: `
      select c.name as account, a.started_at_local::date as day, a.name, training.round(a.elapsed_s / 3600, 1) as hours,
        round(a.avg_power) as avg_power_w, round(a.total_grams_carbs / a.elapsed_s * 3600) as carbs_g_per_h,
        round(a.total_grams_fat / a.elapsed_s * 3600) as fat_g_per_h
      from training.accounts c
      cross join lateral (
        select * from training.activities v
        where v.account_id = c.account_id and v.absent_since is null and v.elapsed_s >= 7200 and v.total_grams_carbs is not null
        order by v.started_at desc limit 8
      ) a
      order by c.name, a.started_at desc;`,
    reading: `
      Rides of two hours or more; grams as the service tells them.`,
  },
  {
    number: 26,
    name: 'load_growth',
    question: 'How fast does my training load grow, week by week?',
    sql: `
      select c.name as account, w.*
      from training.accounts c
      cross join lateral (
        with week as (
          select distinct on (date_trunc('week', f.day)) date_trunc('week', f.day)::date as week, f.tl_total
          from training.form_history f where f.account_id = c.account_id and f.tl_total is not null
          order by date_trunc('week', f.day), f.at desc
        )
        select week, training.round(tl_total, 1) as training_load,
          training.round(tl_total - lag(tl_total) over (order by week), 1) as ramp
        from week order by week desc limit 10
      ) w
      order by c.name, w.week desc;`,
    reading: `
      The load with the last activity of each week, and how much it is above that of the week with activities before. A week without
      activities has no row.`,
  },
  {
    number: 27,
    name: 'laps',
    question: 'What did my head unit say of each lap?',
    sql: `
      select l.account, l.lap, training.round(l.timer_s / 60, 1) as minutes, training.round(l.distance_m / 1000, 1) as km, l.avg_power, l.max_power,
        l.avg_cadence, l.ascent_m, l.trigger
      from training.ride_laps l
      join (
        select distinct on (account) activity_id from training.ride_files order by account, started_at desc
      ) newest using (activity_id)
      order by l.account, l.lap;`,
    reading: `
      The laps of the newest ride whose FIT file passed through musette. Sensors and their batteries are in \`fit_devices\`, what apps
      recorded in \`fit_field_values\`.`,
  },
]
