/** Questions about places, load and fuel, recordings of the head unit, and values derived from every second. */
export const RECORDED = [
  {
    name: 'rides_near_a_place',
    question: 'Which rides came near a place?',
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
      Replace the two corners of the place, each as longitude and latitude. An index serves both conditions, so the query takes milliseconds.
      The bounding box of a ride is larger than its track. To be sure that the ride passed the place, check \`lat\` and \`lng\` in its \`samples\`.`,
  },
  {
    name: 'recommended_load',
    question: 'Did I do the load that the service recommended?',
    sql: `
      select t.account, w.*
      from training.today t
      cross join lateral (
        select training.week_of(d.day) as week, count(*)::int as days, round(sum(r.xss)) as recommended_xss,
          round(sum(d.xss)) as done_xss, round(sum(d.xss) - sum(r.xss)) as difference
        from training.daily_load d join training.recommended_load r using (account_id, day)
        where account_id = t.account_id and r.told_on = r.day
        group by 1 order by 1 desc limit 8
      ) w
      order by t.account, w.week desc;`,
    reading: `
      \`days\` counts only days on which musette polled. A day's recommendation is the first one seen on that day, because it falls after the
      day's ride. The view \`recommended_load\` has it for each day.`,
  },
  {
    name: 'watts_per_heartbeat',
    question: 'How many watts does a heartbeat give?',
    sql: `
      select c.name as account, m.*
      from training.accounts c
      cross join lateral (
        select to_char(a.started_at_local, 'YYYY-MM') as month, count(*)::int as rides, round(avg(a.avg_power)) as avg_power_w,
          round(avg(m.mean_hr)) as avg_hr, training.round(avg(a.avg_power / m.mean_hr), 2) as watts_per_beat
        from training.activities a
        join training.ride_measures m using (activity_id)
        where a.account_id = c.account_id and a.absent_since is null and a.elapsed_s >= 3600 and a.avg_power > 0 and m.mean_hr > 0
        group by 1 order by 1 desc limit 12
      ) m
      order by c.name, m.month desc;`,
    reading: `
      The query uses rides of an hour or more. \`watts_per_beat\` is watts divided by heart rate in bpm. \`efficiency\` in \`ride_overview\` is the
      same with the weighted mean power.`,
  },
  {
    name: 'power_after_work',
    question: 'How much power is left late in a ride?',
    sql: `
      select c.name as account, k.after_kj, count(*)::int as rides, round(max(k.one)) as best_1_min_w, round(max(k.five)) as best_5_min_w,
        round(max(k.twenty)) as best_20_min_w
      from training.accounts c
      cross join lateral (
        select m.* from training.activities a join training.ride_measures m using (activity_id)
        where a.account_id = c.account_id and a.absent_since is null and m.work_kj >= 1000
        order by a.started_at desc nulls last, a.activity_id desc limit 100
      ) r
      cross join lateral (
        values (1000, r.best_1_min_after_1000_kj, r.best_5_min_after_1000_kj, r.best_20_min_after_1000_kj),
          (2000, r.best_1_min_after_2000_kj, r.best_5_min_after_2000_kj, r.best_20_min_after_2000_kj),
          (3000, r.best_1_min_after_3000_kj, r.best_5_min_after_3000_kj, r.best_20_min_after_3000_kj)
      ) as k (after_kj, one, five, twenty)
      where k.one is not null
      group by 1, 2 order by 1, 2;`,
    reading: `
      The answer has the best 1, 5 and 20 minutes that began after this much work, of the last 100 rides with 1,000 kJ or more. \`rides\` counts
      the rides that continued for at least a minute. Recording gaps count as zero.`,
  },
  {
    name: 'fuel_of_long_rides',
    question: 'How much carbohydrate and fat does a long ride burn?',
    sql: `
      select c.name as account, a.started_at_local::date as day, a.name, training.round(a.elapsed_s / 3600, 1) as hours,
        round(a.avg_power) as avg_power_w, round(a.total_grams_carbs / a.elapsed_s * 3600) as carbs_g_per_h,
        round(a.total_grams_fat / a.elapsed_s * 3600) as fat_g_per_h
      from training.accounts c
      cross join lateral (
        select * from training.activities v
        where v.account_id = c.account_id and v.absent_since is null and v.elapsed_s >= 7200 and v.total_grams_carbs is not null
        order by v.started_at desc nulls last, v.activity_id desc limit 8
      ) a
      order by c.name, a.started_at desc nulls last, a.activity_id desc;`,
    reading: `
      The rows are rides of two hours or more, with grams as the service reports them.`,
  },
  {
    name: 'load_growth',
    question: 'How fast is my training load growing?',
    sql: `
      select c.name as account, w.*
      from training.accounts c
      cross join lateral (
        with week as (
          select distinct on (week) training.week_of(f.day) as week, f.tl_total
          from training.form_history f where f.account_id = c.account_id and f.tl_total is not null
          order by week, f.at desc, f.activity_id desc
        )
        select week, training.round(tl_total, 1) as training_load,
          training.round(tl_total - lag(tl_total) over (order by week), 1) as ramp
        from week order by week desc limit 10
      ) w
      order by c.name, w.week desc;`,
    reading: `
      Each row has the load after the last activity of a week, and its increase over the previous week with activities. A week without
      activities has no row.`,
  },
  {
    name: 'laps',
    question: 'What did my head unit record for each lap?',
    sql: `
      select l.account, l.lap, training.round(l.timer_s / 60, 1) as minutes, training.round(l.distance_m / 1000, 1) as km, l.avg_power, l.max_power,
        l.avg_cadence, l.ascent_m, l.trigger
      from training.ride_laps l
      join (
        select distinct on (account) activity_id from training.ride_files order by account, started_at desc nulls last, activity_id desc
      ) newest using (activity_id)
      order by l.account, l.lap;`,
    reading: `
      The rows are the laps of the newest ride whose FIT file musette has. Sensors and their batteries are in \`fit_devices\`; values from apps
      are in \`fit_field_values\`.`,
  },
  {
    name: 'heat',
    question: 'What does heat cost me?',
    sql: `
      select f.account, (floor(r.temperature / 5.0) * 5)::int as from_degrees, count(distinct f.activity_id)::int as rides,
        (count(*) / 60)::int as minutes, round(avg(r.power)) as mean_w, round(avg(r.hr)) as mean_hr,
        training.round(avg(r.power) / avg(r.hr), 2) as watts_per_beat
      from training.ride_files f
      join training.today t using (account_id)
      join training.fit_files x using (account_id, content_id)
      cross join lateral (
        select temperature, power, hr from training.fit_records
        where fit_records.file_id = x.file_id and temperature is not null and power > 0 and hr > 0 offset 0
      ) r
      where f.started_at >= training.start_of_day(t.day - 364, t.timezone)
      group by 1, 2 order by 1, 2;`,
    reading: `
      Each row counts the seconds of pedalling in the last year at one temperature of the head unit, in steps of 5 °C. \`watts_per_beat\` is
      watts divided by heart rate in bpm. There is about one record a second. Only rides whose FIT file musette has have a temperature.`,
  },
  {
    name: 'balance',
    question: 'Does my left/right balance change as I tire?',
    sql: `
      select f.account, (floor(extract(epoch from r.t - f.started_at) / 1800) * 30)::int as from_minute,
        count(distinct f.activity_id)::int as rides, round(avg(r.power)) as mean_w,
        training.round(avg(r.right_power_pct), 1) as right_pct
      from training.ride_files f
      join training.today t using (account_id)
      join training.fit_files x using (account_id, content_id)
      cross join lateral (
        select fit_records.t, power, right_power_pct from training.fit_records
        where fit_records.file_id = x.file_id and right_power_pct is not null and power > 0 offset 0
      ) r
      where f.started_at >= training.start_of_day(t.day - 364, t.timezone)
      group by 1, 2 order by 1, 2;`,
    reading: `
      Each row is a half hour of the ride, over the last year, with the right leg's share in seconds with power. A \`right_power_pct\` of 50 is
      even. Pedals that do not report which leg they measured are left out.`,
  },
  {
    name: 'endurance',
    question: 'Is my endurance improving?',
    sql: `
      select r.account, to_char(r.day, 'YYYY-MM') as month, count(*)::int as rides, training.round(avg(r.decoupling_pct), 1) as decoupling_pct,
        training.round(avg(r.hr_drift_pct), 1) as hr_drift_pct, training.round(avg(r.efficiency), 2) as efficiency
      from training.ride_overview r
      join training.today t using (account_id)
      where r.moving_s >= 3600 and r.intensity < 0.85 and r.decoupling_pct is not null and r.day > t.day - 365
      group by 1, 2 order by 1, 2 desc;`,
    reading: `
      The rows are rides of an hour or more below 85 % of threshold, in the last year. \`decoupling_pct\` is how much the watts per heartbeat
      fell from the first half to the second: less is better, and below 5 is steady. The definitions are in \`ride_measures\`.`,
  },
  {
    name: 'climbs',
    question: 'What are my best climbs?',
    sql: `
      select c.name as account, r.day, r.name, training.round(r.longest_climb_length_m / 1000, 2) as km,
        round(r.longest_climb_gain_m) as gain_m, training.round(r.longest_climb_grade_pct, 1) as grade_pct,
        (r.longest_climb_s / 60)::int as minutes, round(r.longest_climb_vam) as vam
      from training.accounts c
      cross join lateral (
        select * from training.ride_overview v
        where v.account_id = c.account_id and v.longest_climb_vam is not null order by v.longest_climb_vam desc, v.activity_id limit 5
      ) r
      order by c.name, r.longest_climb_vam desc, r.activity_id;`,
    reading: `
      The query takes the longest climb of each activity and shows the five fastest. \`vam\` is meters of height an hour. The comment of
      \`longest_climb_from_s\` in \`ride_measures\` defines a climb, and columns beside it have the steepest climb.`,
  },
  {
    name: 'hrv',
    question: 'How variable is my heartbeat at rest?',
    sql: `
      with step as (
        select account, activity_id, t, position, interval_s,
          interval_s - lag(interval_s) over (partition by activity_id order by position, place) as change
        from training.ride_rr_intervals join training.today using (account_id, account)
        where interval_s between 0.3 and 2 and t >= training.start_of_day(day - 89, timezone)
      ), stretch as (
        select account, activity_id, min(t) as from_t, count(*)::int as beats, 60 / avg(interval_s) as hr,
          1000 * sqrt(avg(change * change) filter (where abs(change) < 0.2 * interval_s)) as rmssd_ms
        from step group by account, activity_id, floor(extract(epoch from t) / 120) having count(*) >= 60
      ), calmest as (
        select distinct on (account, activity_id) * from stretch order by account, activity_id, hr, from_t
      )
      select s.account, a.started_at_local::date as day, a.name, s.beats, round(s.hr) as hr, training.round(s.rmssd_ms, 1) as rmssd_ms
      from calmest s join training.activities a using (activity_id) order by s.account, a.started_at desc nulls last, activity_id desc limit 20;`,
    reading: `
      The query takes the two minutes with the lowest heart rate of each activity of the last 90 days with R-R intervals. \`rmssd_ms\` is the
      root mean square of the differences between successive intervals, in ms. Differences of more than a fifth are left out, because they are
      beats that the sensor missed. The value says most at rest: record a few minutes sitting still.`,
  },
  {
    name: 'same_route',
    question: 'How did I ride this route over the years?',
    sql: `
      select r.account, r.name, training.season_of(a.started_at_local::date) as year, count(*)::int as rides, min(m.moving_s) as best_s,
        round(avg(m.moving_s)) as mean_s, round(avg(m.mean_power)) as mean_w, round(avg(m.mean_hr)) as mean_hr, round(avg(a.xss)) as xss
      from (select distinct on (account_id) * from training.routes order by account_id, rides desc, route_id) r
      join training.ride_measures m using (account_id, route_id) join training.activities a using (activity_id)
      where a.absent_since is null group by 1, 2, 3 order by 1, 3;`,
    reading: `
      The query uses the route with the most rides. The comment of \`route_id\` in \`ride_measures\` says which rides are one route.`,
  },
  {
    name: 'form_to_come',
    question: 'What will my form be?',
    sql: `
      select f.account, t.day + ahead as day, round(f.tl_total::numeric, 1) as training_load, round(f.form::numeric, 1) as form_as_planned,
        round(r.form::numeric, 1) as form_with_rest, f.reason
      from training.today t
      cross join generate_series(0, 14) as ahead
      cross join lateral (select coalesce(jsonb_agg(p), '[]') as days from training.planned_load p where p.account_id = t.account_id) plan
      cross join lateral training.form_on(t.day + ahead, plan.days, t.account_id) f
      cross join lateral training.form_on(t.day + ahead, '[]', t.account_id) r
      order by t.account, day;`,
    reading: `
      The form at the end of each day, derived with constants that were fitted to your rides (\`form_constants\`). The plan repeats today's
      recommended load on each day. To use your own plan, replace it, for example by \`[{"day": "2030-05-01", "low": 60, "high": 4}]\`.`,
  },
]
