/** Questions about fitness, load and the whole history. */
export const FITNESS = [
  {
    name: 'fitter_than_last_year',
    question: 'Am I fitter than last year?',
    sql: `
      select t.account, at.moment, f.day, round(f.ftp) as ftp_w, round(f.hie_kj::numeric, 1) as hie_kj, round(f.pp) as pp_w,
        round(l.tl_total::numeric, 1) as training_load, b.best_20_min_w
      from training.today t
      cross join (values ('a year ago', 1), ('today', 0)) as at (moment, years)
      cross join lateral (
        select * from training.fitness_history f
        where f.account_id = t.account_id and f.day <= t.day - at.years * interval '1 year'
        order by f.at desc, f.activity_id desc limit 1
      ) f
      left join lateral (
        select * from training.form_history l
        where l.account_id = t.account_id and l.day <= f.day and l.tl_total is not null
        order by l.at desc, l.activity_id desc limit 1
      ) l on true
      cross join lateral (
        select round(max(c.watts)) as best_20_min_w
        from training.activities a join training.power_curves c using (activity_id)
        where a.account_id = t.account_id and a.absent_since is null and a.sport = 'cycling' and c.duration_s = 1200
          and a.started_at_local::date between f.day - 89 and f.day
      ) b
      order by t.account, at.years desc;`,
    reading: `
      Higher is fitter: \`ftp_w\`, \`hie_kj\` and \`pp_w\` are the signature (threshold, high intensity energy, peak power). \`training_load\` is the
      training behind it, and \`best_20_min_w\` is the best mean power over 20 minutes on the bike in the 90 days before. A time before your
      first ride has no row.`,
  },
  {
    name: 'cost_of_last_week',
    question: 'What did last week cost me?',
    sql: `
      select d.account, d.week, d.activities, round((w.elapsed_s / 3600)::numeric, 1) as hours, round(d.xss) as xss, round(d.low) as low,
        round(d.high) as high, round(d.peak::numeric, 1) as peak, round(f.form::numeric, 1) as form_after, f.freshness
      from (
        select l.account_id, l.account, training.week_of(l.day) as week, sum(l.activities)::int as activities,
          sum(xss) as xss, sum(low_xss) as low, sum(high_xss) as high, sum(peak_xss) as peak
        from training.daily_load l join training.today t using (account_id)
        where l.day between training.week_of(t.day) - 35 and training.week_of(t.day) - 1
        group by 1, 2, 3
      ) d
      left join (
        select account_id, week, sum(elapsed_s) as elapsed_s from training.weekly_summary group by 1, 2
      ) w using (account_id, week)
      left join lateral (
        select form, freshness from training.form_history f
        where f.account_id = d.account_id and f.day >= d.week and f.day < d.week + 7
        order by at desc, activity_id desc limit 1
      ) f on true
      order by d.account, d.week desc;`,
    reading: `
      The first row is last week, Monday to Sunday; the four rows below are the weeks before. \`xss\` is the week's strain, followed by its
      three parts. \`form_after\` and \`freshness\` are the service's values after the last ride of the week: far below zero means tired. They are
      empty in a week without a ride. \`hours\` includes breaks.`,
  },
  {
    name: 'bests_of_this_season',
    question: "Is my best 20 minutes of this season better than last season's?",
    sql: `
      select b.account, b.sport, b.duration_s as seconds,
        round(max(b.watts) filter (where b.season = t.season - 1)) as last_season_w,
        max(b.day) filter (where b.season = t.season - 1) as ridden,
        round(max(b.watts) filter (where b.season = t.season)) as this_season_w,
        max(b.day) filter (where b.season = t.season) as ridden_now,
        round((100 * (max(b.watts) filter (where b.season = t.season)
          / nullif(max(b.watts) filter (where b.season = t.season - 1), 0) - 1))::numeric, 1) as change_pct
      from training.power_bests b
      join (select account_id, training.season_of(day) as season from training.today) t using (account_id)
      where b.span = 'season' and b.duration_s in (5, 60, 300, 1200, 3600)
      group by 1, 2, 3 order by 1, 2, 3;`,
    reading: `
      A season is a calendar year, and each sport has its own bests. \`change_pct\` is empty if one of the two seasons has no such effort. You
      can add any of about 60 durations to the list.`,
  },
  {
    name: 'breakthroughs',
    question: 'Which rides were breakthroughs?',
    sql: `
      select r.account, r.day, r.name, r.sport, r.medal, round(r.ftp_before) as ftp_before, round(r.ftp_change::numeric, 1) as ftp_change,
        round(r.pp_before) as pp_before, round(r.pp_change::numeric, 1) as pp_change, round(r.atc_change) as atc_change
      from training.accounts c
      cross join lateral (
        select * from training.records
        where records.account_id = c.account_id and breakthrough > 0
        order by day desc, activity_id desc limit 8
      ) r
      order by r.account, r.day desc, r.activity_id desc;`,
    reading: `
      Each row is a ride after which the service raised your signature: threshold (\`ftp_change\`, W), peak power (\`pp_change\`, W) and
      reserve (\`atc_change\`).`,
  },
  {
    name: 'power_zones_by_week',
    question: 'How much time did I spend in each power zone, week by week?',
    sql: `
      select z.account, z.week, z.activities, z.power_z1_s / 60 as z1_min, z.power_z2_s / 60 as z2_min, z.power_z3_s / 60 as z3_min,
        z.power_z4_s / 60 as z4_min, z.power_z5_s / 60 as z5_min, z.power_z6_s / 60 as z6_min, z.power_z7_s / 60 as z7_min
      from training.accounts c
      cross join lateral (
        select * from training.zones_by_week
        where zones_by_week.account_id = c.account_id and sport = 'cycling'
        order by week desc limit 6
      ) z
      order by z.account, z.week desc;`,
    reading: `
      The columns are minutes on the bike below 55, 75, 90, 105, 120 and 150 % of your threshold on that day, and above. The same view has the
      heart rate zones, \`hr_z1_s\` to \`hr_z5_s\`.`,
  },
  {
    name: 'where_above_threshold',
    question: 'Where did the time above threshold come from?',
    sql: `
      select i.account, i.day, a.name, round(i.ftp) as ftp_w, i.above_ftp_s / 60 as above_min,
        round(100.0 * i.above_ftp_s / nullif(a.elapsed_s, 0)::numeric, 1) as pct_of_ride, round(a.xhss) as high_xss
      from training.today t
      cross join lateral (
        select * from training.ride_intensity r
        where r.account_id = t.account_id and r.day > t.day - 42 and r.above_ftp_s > 0
        order by r.above_ftp_s desc, r.activity_id limit 6
      ) i
      join training.activities a using (activity_id)
      order by i.account, i.above_ftp_s desc, activity_id;`,
    reading: `
      The rows are the six rides of the last six weeks with the most minutes above threshold, and the share of each ride.`,
  },
  {
    name: 'rides_to_the_limit',
    question: 'Which rides took me to my limit?',
    sql: `
      select i.account, i.day, a.name, i.near_mpa_s, a.breakthrough, a.near_breakthrough, round(a.max_power) as max_power_w, a.focus
      from training.accounts c
      cross join lateral (
        select * from training.ride_intensity r
        where r.account_id = c.account_id and r.near_mpa_s > 0
        order by r.near_mpa_s desc, r.day desc, r.activity_id limit 6
      ) i
      join training.activities a using (activity_id)
      order by i.account, i.near_mpa_s desc, i.day desc, activity_id;`,
    reading: `
      The answer counts seconds at 90 % or more of the power available at that moment (MPA). Many seconds without a breakthrough mean that you
      came near your limit but did not exceed it; \`near_breakthrough\` means that the service says so. \`sig_manual\` and \`sig_error\` of
      \`activities\` show which signatures you set and which the service estimated.`,
  },
  {
    name: 'best_form',
    question: 'When was my form best?',
    sql: `
      select f.account, f.day, round(f.form::numeric, 1) as form, f.freshness, round(f.tl_total::numeric, 1) as training_load,
        round(f.rl_total::numeric, 1) as recovery_load, d.activities_in_14_days, d.xss_in_14_days
      from training.today t
      cross join lateral (
        select * from training.form_history h
        where h.account_id = t.account_id and h.day > t.day - 365 and h.form is not null
        order by h.form desc, h.at desc, h.activity_id desc limit 5
      ) f
      cross join lateral (
        select sum(activities)::int as activities_in_14_days, round(sum(xss)) as xss_in_14_days
        from training.daily_load d where d.account_id = f.account_id and d.day between f.day - 14 and f.day - 1
      ) d
      order by f.account, f.form desc, f.at desc, f.activity_id desc;`,
    reading: `
      The rows are the best days of the last 365, by the value that the service reports with each ride: higher is fresher. The last two
      columns describe the two weeks before.`,
  },
  {
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
      Times run from the first sample to the last, with breaks. To rank by distance or strain, order by \`distance\` or \`xss\` in both places.`,
  },
  {
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
      Each row is a run of days without any activity, longest first. If you know that you rode on such a day, \`musette sync --full\` compares
      everything with the service.`,
  },
  {
    name: 'what_recalculation_changed',
    question: 'What did the recalculation change?',
    sql: `
      select r.account, r.day_observed, r.activities, round(r.xss_before) as xss_before, round(r.xss_after) as xss_after,
        round(r.xss_change) as xss_change, round(r.ftp_before::numeric, 1) as mean_ftp_before,
        round(r.ftp_after::numeric, 1) as mean_ftp_after, r.first_ride, r.last_ride, a.name as first, r.unchanged
      from training.recalculations r left join training.activities a on a.activity_id = r.first_activity_id
      order by r.account, r.observed_from desc;`,
    reading: `
      Each row is a recalculation of the history by the service: the same rides, their strain before and after, and the mean of their
      thresholds. If you save one ride at the service, all later rides change up to the next locked ride. \`first\` is the first ride that
      changed; \`unchanged\` counts the rides between the first and the last that did not change. \`activity_revisions\` has every change of every
      ride, with old and new values.`,
  },
  {
    name: 'dropped_file',
    question: 'What happened to the file I dropped?',
    sql: `
      select u.account, u.file_name, u.state, to_char(training.local_time(u.seen_at, t.timezone), 'MM-DD HH24:MI') as seen, u.took, u.activity_name,
        round(u.xss) as xss, round(u.ftp_before::numeric, 1) as ftp_before, round(u.ftp_change::numeric, 1) as ftp_change, u.reason
      from training.today t
      cross join lateral (
        select * from training.upload_journey j
        where j.account_id = t.account_id
        order by j.seen_at desc, j.content_id, j.file_name limit 10
      ) u
      order by u.account, u.seen_at desc, u.content_id, u.file_name;`,
    reading: `
      Each row is a file, with the score of its activity. \`took\` is the time from when musette saw the file until its samples were mirrored.
      \`reason\` says why a file was refused.`,
  },
]
