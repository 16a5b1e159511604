/** Questions about single activities, and the rider today. */
export const ACTIVITIES = [
  {
    name: 'compare_two_rides',
    question: 'How do two rides compare, second by second?',
    sql: `
      with ride as (
        select c.name as account, r.activity_id, r.place
        from training.accounts c
        cross join lateral (
          select activity_id, row_number() over (order by started_at desc nulls last, activity_id desc) as place
          from training.activities a
          where a.account_id = c.account_id and a.name = 'Long Saturday' and a.absent_since is null
          order by started_at desc nulls last, activity_id desc limit 2
        ) r
      ), each as (
        select account, place, from_s::int as second, power, hr
        from ride cross join lateral (
          select from_s, power, hr from training.ride_samples s where s.activity_id = ride.activity_id offset 0
        ) s
      ), second as (
        select account, second, max(power) filter (where place = 2) as earlier_power, max(power) filter (where place = 1) as later_power,
          max(hr) filter (where place = 2) as earlier_hr, max(hr) filter (where place = 1) as later_hr
        from each group by 1, 2 having count(distinct place) = 2
      )
      select account, second / 1200 * 20 as from_minute, count(*)::int as seconds,
        round(avg(earlier_power)) as earlier_w, round(avg(later_power)) as later_w,
        round(avg(earlier_hr)) as earlier_hr, round(avg(later_hr)) as later_hr,
        round(100.0 * count(*) filter (where later_power > earlier_power) / count(*)) as pct_later_stronger
      from second
      group by 1, 2 order by 1, 2;`,
    reading: `
      The query compares two rides of the same name second by second and shows steps of 20 minutes. \`pct_later_stronger\` is the share of
      seconds in which the newer ride had more power.`,
  },
  {
    name: 'heart_rate_drift',
    question: 'Did my heart rate drift away from the power?',
    sql: `
      select distinct on (r.account) r.account, r.day, r.name, round(r.mean_power) as mean_w, round(r.mean_hr) as mean_hr,
        training.round(r.hr_drift_pct, 1) as hr_drift_pct, training.round(r.decoupling_pct, 1) as decoupling_pct
      from training.ride_overview r
      where r.elapsed_s > 7200 and r.decoupling_pct is not null
      order by r.account, r.started_at desc nulls last, r.activity_id desc;`,
    reading: `
      The query compares the second half of a ride with its first half, for the newest ride of more than two hours with power and heart rate.
      It shows how much the heart rate rose, and how much the watts per heartbeat fell (\`decoupling_pct\`). Below 5 % is steady; much more
      means that the second half cost more than the first.`,
  },
  {
    name: 'cadence',
    question: 'Which cadence do I ride at?',
    sql: `
      select t.account, (c.step - 1)::int * 5 as from_cadence, (sum(c.seconds) / 60)::int as minutes,
        round(100.0 * sum(c.seconds) / sum(sum(c.seconds)) over (partition by t.account), 1) as pct,
        round(1000 * sum(c.work_kj) / sum(c.seconds)) as mean_w
      from training.activities a
      join training.today t using (account_id)
      join training.ride_measures m using (activity_id)
      cross join lateral unnest(m.cadence_s, m.cadence_work_kj) with ordinality as c (seconds, work_kj, step)
      where a.absent_since is null and a.sport = 'cycling' and a.started_at_local::date > t.day - 14 and c.seconds > 0
      group by 1, 2 order by 1, 2;`,
    reading: `
      The answer covers the last 14 days on the bike, only seconds with pedalling, in steps of 5 rpm, with the mean power of each step.
      musette counts these seconds when samples arrive, so the query reads no samples.`,
  },
  {
    name: 'hill_repeats',
    question: 'Were my hill repeats even?',
    sql: `
      with ride as (
        select distinct on (c.name) c.name as account, a.activity_id, a.sig_ftp
        from training.activities a join training.accounts c using (account_id)
        where a.name = 'Hill repeats' and a.absent_since is null
        order by c.name, a.started_at desc nulls last, a.activity_id desc
      ), smooth as (
        select account, from_s, held_s, power, hr, cad, avg(power) over (
            partition by account order by from_s range between 15 preceding and 15 following
          ) > sig_ftp as hard
        from ride cross join lateral (
          select from_s, held_s, power, hr, cad from training.ride_samples s where s.activity_id = ride.activity_id offset 0
        ) s
      ), run as (
        select *, count(*) filter (where hard is not true) over (partition by account order by from_s) as easy from smooth
      )
      select account, row_number() over (partition by account order by min(from_s))::int as repeat,
        to_char(make_interval(secs => min(from_s)), 'HH24:MI:SS') as begins, sum(held_s)::int as seconds,
        round(sum(power * held_s) / sum(held_s)) as mean_w, max(hr) as max_hr, round(avg(cad)) as cadence
      from run where hard group by account, easy having sum(held_s) >= 60
      order by account, min(from_s);`,
    reading: `
      A repeat is a minute or more above threshold, as a mean over half a minute. If the watts fall at the same heart rate, you rode one
      repeat too many.`,
  },
  {
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
      The weight is the service's; without a weight the last two columns are empty. \`training_info\` has a row for each change of any of its
      values.`,
  },
  {
    name: 'workout_today',
    question: 'What should I ride today?',
    sql: `
      with i as (
        select distinct on (c.name) account_id, c.name as account, t.wotd_type, t.wotd_name, t.wotd_workout_id
        from training.accounts c join training.training_info t using (account_id)
        order by c.name, t.observed_at desc
      ), resolved as (
        select i.account_id, position, name, interval_count as times, round(power) as watts, duration as seconds, round(power_rest) as rest_watts,
          duration_rest as rest_seconds
        from training.workout_sets s join i on s.account_id = i.account_id and s.path = i.wotd_workout_id
      ), point as (
        select i.account_id, n, p[1]::float8 as minute, p[2]::float8 as watts
        from training.workout_files f join i on f.account_id = i.account_id and f.workout_id = i.wotd_workout_id
        cross join string_to_table(split_part(f.content, '[COURSE DATA]', 2), chr(10)) with ordinality as line (text, n)
        cross join regexp_match(line.text, '^ *([0-9.]+)[[:space:]]+([0-9.]+)') as p
        where f.format = 'erg' and p is not null
      ), step as (
        select account_id, n, 60 * (lead(minute) over file - minute) as seconds, (watts + lead(watts) over file) / 2 as watts
        from point window file as (partition by account_id order by n)
      )
      select i.account, i.wotd_type, i.wotd_name, s.position, s.name, s.times, s.watts, s.seconds, s.rest_watts, s.rest_seconds
      from i left join (
        select * from resolved
        union all
        select account_id, (row_number() over (partition by account_id order by n) - 1)::int, 'from the file', 1, round(watts),
          round(seconds), null, null
        from step where seconds > 0 and account_id not in (select account_id from resolved)
      ) s using (account_id)
      order by i.account, s.position;`,
    reading: `
      The workout of the day, resolved for your signature: \`times\` × \`seconds\` at \`watts\`, with \`rest_seconds\` at \`rest_watts\` between them.
      The service has no sets for a workout that is in neither list. Then each step of its file is a row. Without a workout today there is one
      row with only the type.`,
  },
  {
    name: 'rides_on_their_way',
    question: 'Which rides are not mirrored yet?',
    sql: `
      select c.name as account, a.started_at_local as started, a.name, a.detail_state, a.fetch_attempts, a.fetch_error
      from training.activities a join training.accounts c using (account_id)
      where a.absent_since is null and a.detail_state <> 'mirrored'
      order by c.name, a.started_at desc nulls last, a.activity_id desc;`,
    reading: `
      A ride with \`awaiting_samples\` arrives by itself. A ride with \`failed\` has a reason and is retried with growing pauses. No rows mean
      that everything that the service lists is mirrored.`,
  },
  {
    name: 'this_year_so_far',
    question: 'How far did I get this year?',
    sql: `
      select account, sport, training.season_of(first_day) as year, activities, round(distance) as km, round(moving_s / 3600) as hours,
        round(total_elevation_gain) as climbed, round(work_kj) as work_kj, round(xss) as xss
      from training.totals where span = 'season to date' order by account, sport, year;`,
    reading: `
      Each row is a year, up to the same day of the calendar; the first year begins with your first ride. \`hours\` count only time in motion.
      With span "month" or "season" the view has each month and whole year.`,
  },
]
