import type { Recipe } from './recipe.ts'

/** Questions about recordings of the head unit and sensors, and values derived from every second. */
export const RECORDED: readonly Recipe[] = [
  {
    number: 28,
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
      Seconds of pedalling of the last year by the temperature at the head unit, in steps of 5 °C: \`watts_per_beat\` is W by beats a
      minute. Records are about one a second. Only rides whose FIT file passed through musette have a temperature.`,
  },
  {
    number: 29,
    name: 'balance',
    question: 'Is my balance even when I tire?',
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
      The share of the right leg by half hours of the ride, over the last year, only seconds with power: \`right_power_pct\` of 50 is even.
      Pedals that do not say which leg they measured are left out.`,
  },
  {
    number: 30,
    name: 'endurance',
    question: 'Does my endurance get better?',
    sql: `
      select r.account, to_char(r.day, 'YYYY-MM') as month, count(*)::int as rides, training.round(avg(r.decoupling_pct), 1) as decoupling_pct,
        training.round(avg(r.hr_drift_pct), 1) as hr_drift_pct, training.round(avg(r.efficiency), 2) as efficiency
      from training.ride_overview r
      join training.today t using (account_id)
      where r.moving_s >= 3600 and r.intensity < 0.85 and r.decoupling_pct is not null and r.day > t.day - 365
      group by 1, 2 order by 1, 2 desc;`,
    reading: `
      Rides of an hour or more below 85 % of the threshold, in the last year. \`decoupling_pct\` is how much the watts of a heartbeat fell
      from the first half to the second: less is better, below 5 is steady. The definitions are in \`ride_measures\`.`,
  },
  {
    number: 31,
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
      The longest climb of each activity, the fastest five: \`vam\` is m of height an hour. What a climb is says \`longest_climb_from_s\`
      in \`ride_measures\`, with the steepest one beside it.`,
  },
  {
    number: 32,
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
      The two minutes with the lowest heart rate of each activity of the last 90 days with R-R intervals: \`rmssd_ms\` is the root mean
      square of the differences from one interval to the next, ms, without those of more than a fifth, which are beats that the sensor
      missed. At rest it says most: record a few minutes sitting still.`,
  },
]
