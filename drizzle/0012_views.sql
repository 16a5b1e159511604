-- Without it Postgres takes a table that it never looked at for hundreds of accounts, and compiles plans for as many.
ANALYZE training.accounts;
--> statement-breakpoint
-- Each view leaves out absent activities; a day is the day on the wall clock of the activity's own time zone.
CREATE VIEW training.today AS
WITH clock AS MATERIALIZED (
  SELECT a.account_id, coalesce(newest.utc_offset, interval '0') AS utc_offset
  FROM training.accounts a
  LEFT JOIN LATERAL (
    SELECT started_at_local - started_at AT TIME ZONE 'UTC' AS utc_offset
    FROM training.activities v
    WHERE v.account_id = a.account_id AND v.absent_since IS NULL AND v.started_at IS NOT NULL
    ORDER BY v.started_at DESC LIMIT 1
  ) newest ON true
)
SELECT account_id, utc_offset, (now() AT TIME ZONE 'UTC' + utc_offset)::date AS day FROM clock;
--> statement-breakpoint
COMMENT ON VIEW training.today IS 'Derived: which day it is for each account, by the UTC offset of its newest activity (UTC before the first). The service tells no time zone of an account.';
--> statement-breakpoint
COMMENT ON COLUMN training.today."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.today."utc_offset" IS 'Derived: wall clock minus UTC at the newest activity';
--> statement-breakpoint
COMMENT ON COLUMN training.today."day" IS 'Derived: the present day there';
--> statement-breakpoint
-- Days are counted as whole numbers: steps of one day between moments would depend on the time zone of the session. Grouped
-- and not joined: a join is a matter of seconds for as long as Postgres has no statistics of a new mirror.
CREATE VIEW training.daily_load AS
WITH ride AS (
  SELECT account_id, activity_id, started_at_local::date AS day, xlss, xhss, xpss, xss
  FROM training.activities WHERE absent_since IS NULL AND started_at_local IS NOT NULL
), span AS (
  SELECT r.account_id, min(r.day) AS first, greatest(max(r.day), min(t.day)) AS last
  FROM ride r JOIN training.today t USING (account_id) GROUP BY 1
), entry AS (
  SELECT * FROM ride
  UNION ALL
  SELECT account_id, NULL, first + generate_series(0, last - first), NULL, NULL, NULL, NULL FROM span
)
SELECT account_id, day, count(activity_id)::int AS activities,
  CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xlss) END AS low_xss,
  CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xhss) END AS high_xss,
  CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xpss) END AS peak_xss,
  CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xss) END AS xss,
  (count(activity_id) - count(xss))::int AS without_xss
FROM entry GROUP BY 1, 2;
--> statement-breakpoint
COMMENT ON VIEW training.daily_load IS 'The training load of every day from the first activity to today, days without activities as 0. Sums of what the service said; a day whose activities all lack a number has NULL.';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."day" IS 'Day on the wall clock of each activity''s own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."activities" IS 'Number of activities that started on that day';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."low_xss" IS 'Training load score, low part (xlss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."high_xss" IS 'Training load score, high part (xhss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."peak_xss" IS 'Training load score, peak part (xpss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."xss" IS 'Training load score, total, summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.daily_load."without_xss" IS 'Number of activities of that day for which the service told no xss; they are missing in the sums';
--> statement-breakpoint
CREATE VIEW training.weekly_summary AS
SELECT account_id, date_trunc('week', started_at_local)::date AS week, activity_type, count(*)::int AS activities,
  sum(elapsed_s) AS elapsed_s, sum(distance) AS distance, sum(total_calories) AS total_calories,
  sum(total_elevation_gain) AS total_elevation_gain,
  sum(xlss) AS low_xss, sum(xhss) AS high_xss, sum(xpss) AS peak_xss, sum(xss) AS xss
FROM training.activities
WHERE absent_since IS NULL AND started_at_local IS NOT NULL
GROUP BY 1, 2, 3;
--> statement-breakpoint
COMMENT ON VIEW training.weekly_summary IS 'Sums of each week and type of activity; weeks without activities have no row. A sum is NULL when no activity of it has the number.';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."week" IS 'Monday of the week, on the wall clock of each activity''s own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."activity_type" IS 'Type in the words of the service, such as Cycling';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."activities" IS 'Number of activities';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."elapsed_s" IS 'Derived: seconds from the first sample to the last of each activity, summed; activities without samples are missing in it';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."distance" IS 'Distance as sent, km, summed';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."total_calories" IS 'Energy, summed; unit not told by the service (read as kcal)';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."total_elevation_gain" IS 'Climbed height, summed; unit not told by the service (read as m)';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."low_xss" IS 'Training load score, low part (xlss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."high_xss" IS 'Training load score, high part (xhss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."peak_xss" IS 'Training load score, peak part (xpss), summed; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.weekly_summary."xss" IS 'Training load score, total, summed; unit not told by the service';
--> statement-breakpoint
CREATE VIEW training.fitness_history AS
SELECT account_id, started_at AS at, started_at_local::date AS day, 'activity' AS source, activity_id,
  sig_ftp AS ftp, sig_atc / 1000 AS hie_kj, sig_pp AS pp, prev_sig_ltp AS ltp
FROM training.activities
WHERE absent_since IS NULL AND started_at IS NOT NULL AND num_nonnulls(sig_ftp, sig_atc, sig_pp, prev_sig_ltp) > 0
UNION ALL
SELECT i.account_id, i.observed_at, (i.observed_at AT TIME ZONE 'UTC' + t.utc_offset)::date, 'training_info', NULL,
  i.ftp, i.hie, i.pp, i.ltp
FROM training.training_info i JOIN training.today t USING (account_id)
WHERE num_nonnulls(i.ftp, i.hie, i.pp, i.ltp) > 0;
--> statement-breakpoint
COMMENT ON VIEW training.fitness_history IS 'The signature of the rider over time: after each activity, as far back as activities go, and each time the training information of the service changed since it is polled.';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."at" IS 'Start of the activity, or when the training information was first seen so';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."day" IS 'Day of the activity in its own time zone; of training information derived, see today';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."source" IS 'activity or training_info';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."activity_id" IS 'Activity, see activities; NULL for training information';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."ftp" IS 'Threshold power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."hie_kj" IS 'High intensity energy; unit not told by the service, read as kJ. For activities derived: sig_atc / 1000, a guess that atc is the same in J';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."pp" IS 'Peak power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.fitness_history."ltp" IS 'Lower threshold power, W; for activities the one before the activity (prev_sig_ltp), the only one the service tells';
--> statement-breakpoint
CREATE VIEW training.form_history AS
SELECT account_id, started_at AS at, started_at_local::date AS day, activity_id,
  tl_ftp, tl_hie, tl_pp, tl_ftp + tl_hie + tl_pp AS tl_total,
  rl_ftp, rl_hie, rl_pp, rl_ftp + rl_hie + rl_pp AS rl_total, form, training_status, freshness
FROM training.activities
WHERE absent_since IS NULL AND started_at IS NOT NULL
  AND num_nonnulls(tl_ftp, tl_hie, tl_pp, rl_ftp, rl_hie, rl_pp, form, training_status, freshness) > 0;
--> statement-breakpoint
COMMENT ON VIEW training.form_history IS 'Training load, recovery load and form as the service told them with each activity.';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."at" IS 'Start of the activity';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."day" IS 'Day of the activity in its own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."tl_ftp" IS 'Training load of threshold power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."tl_hie" IS 'Training load of high intensity energy; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."tl_pp" IS 'Training load of peak power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."tl_total" IS 'Derived: tl_ftp + tl_hie + tl_pp; unit not told by the service; NULL when one is missing';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."rl_ftp" IS 'Recovery load of threshold power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."rl_hie" IS 'Recovery load of high intensity energy; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."rl_pp" IS 'Recovery load of peak power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."rl_total" IS 'Derived: rl_ftp + rl_hie + rl_pp; unit not told by the service; NULL when one is missing';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."form" IS 'Form; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."training_status" IS 'Training status as a number; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.form_history."freshness" IS 'Freshness, in the words of the service';
--> statement-breakpoint
-- The best of each season is one look into the index power_curves_best; all time is the best of the seasons. Over 3,000 rides
-- with 180,000 points it takes 22 ms, where a join over all points takes 60 to 80 ms. Accounts and seasons go through unnest()
-- because Postgres takes that for 10 rows: by its other guesses it would spend 50 ms on compiling the plan (jit).
CREATE VIEW training.power_bests AS
WITH duration AS (
  SELECT unnest('{1,2,3,4,5,6,7,8,9,10,12,15,18,20,25,30,35,40,45,50,60,75,90,105,120,150,180,210,240,270,300,360,420,480,540,600,
    720,840,900,1080,1200,1500,1800,2100,2400,2700,3000,3600,4500,5400,6300,7200,9000,10800,12600,14400,18000,21600,25200,28800,
    36000,43200}'::int[]) AS duration_s
), season AS (
  SELECT (key / 10000)::int AS account_id, (key % 10000)::int AS season
  FROM (
    SELECT unnest(array_agg(DISTINCT account_id * 10000::bigint + date_part('year', started_at_local)::int)) AS key
    FROM training.activities WHERE absent_since IS NULL AND started_at_local IS NOT NULL
  ) packed
), season_best AS MATERIALIZED (
  SELECT s.account_id, s.season, d.duration_s, best.watts, holder.activity_id, holder.day
  FROM season s
  CROSS JOIN duration d
  CROSS JOIN LATERAL (
    SELECT c.watts FROM training.power_curves c JOIN training.activities a USING (activity_id)
    WHERE c.account_id = s.account_id AND c.season = s.season AND c.duration_s = d.duration_s AND a.absent_since IS NULL
    ORDER BY c.watts DESC LIMIT 1
  ) best
  CROSS JOIN LATERAL (
    SELECT c.activity_id, a.started_at_local::date AS day
    FROM training.power_curves c JOIN training.activities a USING (activity_id)
    WHERE c.account_id = s.account_id AND c.season = s.season AND c.duration_s = d.duration_s AND c.watts = best.watts
      AND a.absent_since IS NULL
    ORDER BY a.started_at_local, a.activity_id LIMIT 1
  ) holder
), all_time AS (
  SELECT DISTINCT ON (account_id, duration_s) * FROM season_best ORDER BY account_id, duration_s, watts DESC, season
), recent AS (
  SELECT DISTINCT ON (a.account_id, c.duration_s)
    a.account_id, c.duration_s, c.watts, a.activity_id, a.started_at_local::date AS day
  FROM training.activities a
  JOIN training.today t USING (account_id)
  CROSS JOIN LATERAL (
    SELECT duration_s, watts FROM training.power_curves WHERE power_curves.activity_id = a.activity_id OFFSET 0
  ) c
  JOIN duration USING (duration_s)
  WHERE a.absent_since IS NULL AND a.started_at > now() - interval '92 days'
    AND a.started_at_local::date BETWEEN t.day - 89 AND t.day
  ORDER BY a.account_id, c.duration_s, c.watts DESC, a.started_at_local, a.activity_id
)
SELECT account_id, 'all time' AS span, NULL::int AS season, duration_s, watts, activity_id, day FROM all_time
UNION ALL
SELECT account_id, 'season', season, duration_s, watts, activity_id, day FROM season_best
UNION ALL
SELECT account_id, 'last 90 days', NULL, duration_s, watts, activity_id, day FROM recent;
--> statement-breakpoint
COMMENT ON VIEW training.power_bests IS 'Derived: the best mean power for about 60 durations, over all time, in each season and in the last 90 days, and which activity holds it (the earliest of equals). From power_curves.';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."span" IS 'all time, season or last 90 days (today and the 89 days before it, see today)';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."season" IS 'Calendar year of the season; NULL for the other spans';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."duration_s" IS 'Length of the window, s';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."watts" IS 'Derived: best mean power over that length, W; recording gaps count as zero watts, see power_curves';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."activity_id" IS 'Activity that holds it, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."day" IS 'Day of that activity in its own time zone';
--> statement-breakpoint
CREATE VIEW training.records AS
SELECT account_id, activity_id, started_at_local::date AS day, name, medal, breakthrough,
  prev_sig_ftp AS ftp_before, sig_ftp AS ftp_after, sig_ftp - prev_sig_ftp AS ftp_change,
  prev_sig_pp AS pp_before, sig_pp AS pp_after, sig_pp - prev_sig_pp AS pp_change,
  prev_sig_atc AS atc_before, sig_atc AS atc_after, sig_atc - prev_sig_atc AS atc_change
FROM training.activities
WHERE absent_since IS NULL AND (medal <> 0 OR breakthrough <> 0);
--> statement-breakpoint
COMMENT ON VIEW training.records IS 'Activities for which the service gave a medal or a breakthrough, and what they did to the signature.';
--> statement-breakpoint
COMMENT ON COLUMN training.records."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.records."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.records."day" IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
--> statement-breakpoint
COMMENT ON COLUMN training.records."name" IS 'Name of the activity';
--> statement-breakpoint
COMMENT ON COLUMN training.records."medal" IS 'Medal, a whole number of the service; 0 is none';
--> statement-breakpoint
COMMENT ON COLUMN training.records."breakthrough" IS 'Breakthrough, a whole number of the service; 0 is none';
--> statement-breakpoint
COMMENT ON COLUMN training.records."ftp_before" IS 'Threshold power before the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."ftp_after" IS 'Threshold power after the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."ftp_change" IS 'Derived: ftp_after - ftp_before, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."pp_before" IS 'Peak power before the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."pp_after" IS 'Peak power after the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."pp_change" IS 'Derived: pp_after - pp_before, W';
--> statement-breakpoint
COMMENT ON COLUMN training.records."atc_before" IS 'Signature number atc before the activity; unit not told by the service, probably J';
--> statement-breakpoint
COMMENT ON COLUMN training.records."atc_after" IS 'Signature number atc after the activity; unit not told by the service, probably J';
--> statement-breakpoint
COMMENT ON COLUMN training.records."atc_change" IS 'Derived: atc_after - atc_before; unit not told by the service, probably J';
--> statement-breakpoint
-- By months, because the highest of a window that slides from ride to ride is ten times as slow.
CREATE VIEW training.ride_intensity AS
WITH ride AS (
  SELECT a.account_id, i.activity_id, a.started_at_local::date AS day, date_trunc('month', a.started_at_local) AS month, i.ftp,
    i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s,
    i.hr_peak, i.hr_at_least_s, i.near_mpa_s, i.above_ftp_s
  FROM training.activity_intensity i JOIN training.activities a USING (activity_id)
  WHERE a.absent_since IS NULL
), highest AS (
  SELECT account_id, month, max(max(hr_peak)) OVER (
    PARTITION BY account_id ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) AS hr_max
  FROM ride WHERE month IS NOT NULL GROUP BY account_id, month
)
SELECT r.account_id, r.activity_id, r.day, r.ftp,
  r.power_z1_s, r.power_z2_s, r.power_z3_s, r.power_z4_s, r.power_z5_s, r.power_z6_s, r.power_z7_s, h.hr_max,
  r.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, r.near_mpa_s, r.above_ftp_s, r.hr_peak
FROM ride r
LEFT JOIN highest h USING (account_id, month)
LEFT JOIN LATERAL (
  SELECT coalesce(r.hr_at_least_s[(h.hr_max * 6 + 9) / 10], 0) AS s60, coalesce(r.hr_at_least_s[(h.hr_max * 7 + 9) / 10], 0) AS s70,
    coalesce(r.hr_at_least_s[(h.hr_max * 8 + 9) / 10], 0) AS s80, coalesce(r.hr_at_least_s[(h.hr_max * 9 + 9) / 10], 0) AS s90
  WHERE h.hr_max IS NOT NULL AND r.hr_at_least_s IS NOT NULL
) z ON true;
--> statement-breakpoint
COMMENT ON VIEW training.ride_intensity IS 'Derived: how many seconds of each activity with samples were how hard. Power zones are shares of that day''s threshold power, heart rate zones of a derived highest heart rate. Each second with a sample counts once, recording gaps do not count; power is p_raw where the activity has it, else power.';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."day" IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."ftp" IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z1_s" IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z2_s" IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z3_s" IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z4_s" IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z5_s" IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z6_s" IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."power_z7_s" IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_max" IS 'Derived, for the service tells no maximum heart rate: the highest heart rate, 1/min, that any activity of the account in that month and the twelve before it reached for 10 s; NULL when there is none';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_z1_s" IS 'Derived: seconds below 60 % of hr_max; NULL without heart rate';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_z2_s" IS 'Derived: seconds from 60 % to below 70 % of hr_max; NULL without heart rate';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_z3_s" IS 'Derived: seconds from 70 % to below 80 % of hr_max; NULL without heart rate';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_z4_s" IS 'Derived: seconds from 80 % to below 90 % of hr_max; NULL without heart rate';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_z5_s" IS 'Derived: seconds at 90 % of hr_max or more; NULL without heart rate';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."near_mpa_s" IS 'Derived: seconds at 90 % or more of the maximal power available (mpa); NULL when no second has both power and mpa';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."above_ftp_s" IS 'Derived: seconds above ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.ride_intensity."hr_peak" IS 'Derived: the highest heart rate that at least 10 s of the activity reached, 1/min';
--> statement-breakpoint
CREATE VIEW training.zones_by_week AS
SELECT account_id, date_trunc('week', day::timestamp)::date AS week, count(*)::int AS activities,
  sum(power_z1_s)::int AS power_z1_s, sum(power_z2_s)::int AS power_z2_s, sum(power_z3_s)::int AS power_z3_s,
  sum(power_z4_s)::int AS power_z4_s, sum(power_z5_s)::int AS power_z5_s, sum(power_z6_s)::int AS power_z6_s,
  sum(power_z7_s)::int AS power_z7_s, sum(hr_z1_s)::int AS hr_z1_s, sum(hr_z2_s)::int AS hr_z2_s,
  sum(hr_z3_s)::int AS hr_z3_s, sum(hr_z4_s)::int AS hr_z4_s, sum(hr_z5_s)::int AS hr_z5_s,
  sum(near_mpa_s)::int AS near_mpa_s, sum(above_ftp_s)::int AS above_ftp_s
FROM training.ride_intensity
WHERE day IS NOT NULL
GROUP BY 1, 2;
--> statement-breakpoint
COMMENT ON VIEW training.zones_by_week IS 'Derived: ride_intensity summed over each week; each activity counts with the threshold power and the highest heart rate of its own time. A sum is NULL when no activity of the week has the number.';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."week" IS 'Monday of the week, on the wall clock of each activity''s own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."activities" IS 'Number of activities with samples';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z1_s" IS 'Derived: seconds below 55 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z2_s" IS 'Derived: seconds from 55 % to below 75 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z3_s" IS 'Derived: seconds from 75 % to below 90 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z4_s" IS 'Derived: seconds from 90 % to below 105 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z5_s" IS 'Derived: seconds from 105 % to below 120 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z6_s" IS 'Derived: seconds from 120 % to 150 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."power_z7_s" IS 'Derived: seconds above 150 % of ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."hr_z1_s" IS 'Derived: seconds below 60 % of hr_max, see ride_intensity';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."hr_z2_s" IS 'Derived: seconds from 60 % to below 70 % of hr_max';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."hr_z3_s" IS 'Derived: seconds from 70 % to below 80 % of hr_max';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."hr_z4_s" IS 'Derived: seconds from 80 % to below 90 % of hr_max';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."hr_z5_s" IS 'Derived: seconds at 90 % of hr_max or more';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."near_mpa_s" IS 'Derived: seconds at 90 % or more of the maximal power available (mpa)';
--> statement-breakpoint
COMMENT ON COLUMN training.zones_by_week."above_ftp_s" IS 'Derived: seconds above ftp';
--> statement-breakpoint
CREATE VIEW training.upload_journey AS
SELECT u.account_id, u.content_id, u.file_name, u.state, u.reason, u.seen_at, u.sent_at, u.accepted_at, u.mirrored_at,
  u.mirrored_at - u.seen_at AS took, a.activity_id, a.name AS activity_name, a.started_at_local::date AS day, a.xss,
  a.prev_sig_ftp AS ftp_before, a.sig_ftp AS ftp_after, a.sig_ftp - a.prev_sig_ftp AS ftp_change
FROM training.uploads u
LEFT JOIN training.activities a ON a.activity_id = u.activity_id AND a.absent_since IS NULL;
--> statement-breakpoint
COMMENT ON VIEW training.upload_journey IS 'The way of each file, from the folder to its scores: one row a FIT content. The columns of the activity are NULL until it is here, and when the service does not list it any more.';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."content_id" IS 'SHA-256 of the FIT bytes, hex';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."file_name" IS 'Name of the file where the content was first seen';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."state" IS 'How far it is, see uploads';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."reason" IS 'Why it was refused or is not settled';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."seen_at" IS 'When the content was first seen, or seen anew after a refusal or by --force';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."sent_at" IS 'When it was last sent';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."accepted_at" IS 'When the service took it';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."mirrored_at" IS 'When its activity was here with samples';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."took" IS 'Derived: mirrored_at - seen_at';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."activity_id" IS 'Activity made from it, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."activity_name" IS 'Name of the activity';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."day" IS 'Day of the activity in its own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."xss" IS 'Training load score of the activity, total; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."ftp_before" IS 'Threshold power before the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."ftp_after" IS 'Threshold power after the activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey."ftp_change" IS 'Derived: ftp_after - ftp_before, W';
--> statement-breakpoint
CREATE VIEW training.mirror_health AS
WITH activity AS MATERIALIZED (
  SELECT account_id, detail_state, count(*) AS count, min(wanted_at) AS since,
    (array_agg(fetch_error ORDER BY wanted_at DESC) FILTER (WHERE fetch_error IS NOT NULL))[1] AS error
  FROM training.activities WHERE absent_since IS NULL GROUP BY 1, 2
), ridden AS MATERIALIZED (
  SELECT account_id, date_trunc('month', started_at_local)::date AS month
  FROM training.activities WHERE absent_since IS NULL AND started_at_local IS NOT NULL GROUP BY 1, 2
), item AS (
  SELECT account_id, 'needs login' AS item, NULL::date AS month, needs_login::int::bigint AS count, NULL::timestamptz AS at,
    last_error AS detail
  FROM training.accounts
  UNION ALL
  SELECT a.account_id, 'last good poll', NULL, NULL, max(good.finished_at), NULL
  FROM training.accounts a
  CROSS JOIN (VALUES ('poll'), ('backfill')) AS way(kind)
  LEFT JOIN LATERAL (
    SELECT r.finished_at FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = way.kind AND r.outcome IN ('done', 'partial')
    ORDER BY r.started_at DESC LIMIT 1
  ) good ON true
  GROUP BY 1
  UNION ALL
  SELECT a.account_id, 'last reconcile', NULL, good.listed, good.finished_at, newest.error
  FROM training.accounts a
  LEFT JOIN LATERAL (
    SELECT r.finished_at, r.listed FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = 'reconcile' AND r.outcome IN ('done', 'partial')
    ORDER BY r.started_at DESC LIMIT 1
  ) good ON true
  LEFT JOIN LATERAL (
    SELECT r.error FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = 'reconcile' AND r.outcome <> 'running'
    ORDER BY r.started_at DESC LIMIT 1
  ) newest ON true
  UNION ALL
  SELECT a.account_id, state.item, NULL, coalesce(v.count, 0), CASE WHEN state.waits THEN v.since END,
    CASE WHEN state.waits THEN v.error END
  FROM training.accounts a
  CROSS JOIN (VALUES ('activities mirrored', 'mirrored', false), ('activities wanted', 'wanted', true),
    ('activities awaiting samples', 'awaiting_samples', true), ('activities failed', 'failed', true)
  ) AS state(item, detail_state, waits)
  LEFT JOIN activity v ON v.account_id = a.account_id AND v.detail_state = state.detail_state
  UNION ALL
  SELECT a.account_id, 'uploads on their way', NULL, count(u.state), min(u.seen_at),
    (array_agg(u.reason ORDER BY u.seen_at DESC) FILTER (WHERE u.reason IS NOT NULL))[1]
  FROM training.accounts a
  LEFT JOIN training.uploads u ON u.account_id = a.account_id AND u.state IN ('seen', 'sending', 'unconfirmed', 'accepted')
  GROUP BY 1
  UNION ALL
  SELECT span.account_id, 'month without activities', each.month, 0, NULL, NULL
  FROM (
    SELECT r.account_id, min(r.month) AS first, min(t.day) AS last FROM ridden r JOIN training.today t USING (account_id) GROUP BY 1
  ) span
  CROSS JOIN LATERAL (SELECT age(span.last::timestamp, span.first::timestamp) AS age) length
  CROSS JOIN LATERAL (
    SELECT (span.first + n * interval '1 month')::date AS month
    FROM generate_series(0, (date_part('year', length.age) * 12 + date_part('month', length.age))::int) AS n
  ) each
  WHERE NOT EXISTS (SELECT FROM ridden r WHERE r.account_id = span.account_id AND r.month = each.month)
  UNION ALL
  SELECT a.account_id, 'last run of ' || pass.resource || ' ' || pass.kind, NULL, run.failed, run.started_at,
    concat_ws(': ', run.outcome, run.error)
  FROM training.accounts a
  CROSS JOIN LATERAL (
    WITH RECURSIVE known AS (
      (SELECT r.resource, r.kind FROM training.sync_runs r WHERE r.account_id = a.account_id ORDER BY 1, 2 LIMIT 1)
      UNION ALL
      SELECT next.resource, next.kind FROM known k
      CROSS JOIN LATERAL (
        SELECT r.resource, r.kind FROM training.sync_runs r
        WHERE r.account_id = a.account_id AND (r.resource, r.kind) > (k.resource, k.kind) ORDER BY 1, 2 LIMIT 1
      ) next
    )
    SELECT resource, kind FROM known
  ) pass
  CROSS JOIN LATERAL (
    SELECT r.started_at, r.outcome, r.failed, r.error FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = pass.resource AND r.kind = pass.kind
    ORDER BY r.started_at DESC LIMIT 1
  ) run
)
SELECT i.account_id, a.name AS account, i.item, i.month, i.count, i.at, i.detail
FROM item i JOIN training.accounts a USING (account_id);
--> statement-breakpoint
COMMENT ON VIEW training.mirror_health IS 'How well the mirror is: one row a thing to look at, for each account.';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."account" IS 'Name of the account';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."item" IS 'needs login; last good poll; last reconcile; activities mirrored, wanted, awaiting samples, failed; uploads on their way; month without activities, a row each, between the first activity and today; last run of <resource> <kind>, a row each';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."month" IS 'First day of the month, for months without activities';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."count" IS 'How many: activities or uploads; 1 when a login is needed, else 0; entries in the list that was compared; items that failed in the last run';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."at" IS 'End of the last good poll or reconcile, NULL when there was none; start of the last run; since when the oldest activity or upload waits';
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health."detail" IS 'In words: last failure of the tokens; why the last reconcile changed nothing; newest reason of what failed or waits; outcome of the last run';
--> statement-breakpoint
-- A pass over thousands of activities goes on for minutes, with pauses when the service is away: an hour without a
-- change ends it. Five activities are more than edits by hand within an hour, and fewer than any history.
CREATE VIEW training.recalculations AS
WITH revision AS (
  SELECT a.account_id, a.activity_id, a.started_at_local::date AS day, r.observed_at,
    (r.changes #>> '{xss,0}')::float8 AS xss_before, (r.changes #>> '{xss,1}')::float8 AS xss_after,
    (r.changes #>> '{sig_ftp,0}')::float8 AS ftp_before, (r.changes #>> '{sig_ftp,1}')::float8 AS ftp_after
  FROM training.activity_revisions r JOIN training.activities a USING (activity_id)
  WHERE a.absent_since IS NULL AND (
    (r.changes #>> '{xss,0}' IS NOT NULL AND r.changes #>> '{xss,1}' IS NOT NULL)
    OR (r.changes #>> '{sig_ftp,0}' IS NOT NULL AND r.changes #>> '{sig_ftp,1}' IS NOT NULL)
    OR (r.changes #>> '{sig_pp,0}' IS NOT NULL AND r.changes #>> '{sig_pp,1}' IS NOT NULL)
    OR (r.changes #>> '{tl_ftp,0}' IS NOT NULL AND r.changes #>> '{tl_ftp,1}' IS NOT NULL))
), begun AS (
  SELECT *, observed_at - lag(observed_at) OVER (PARTITION BY account_id ORDER BY observed_at) <= interval '1 hour' AS goes_on
  FROM revision
), pass AS (
  SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (PARTITION BY account_id ORDER BY observed_at) AS number
  FROM begun
), changed AS (
  SELECT account_id, number, activity_id, day, min(observed_at) AS observed_from, max(observed_at) AS observed_to,
    (array_agg(xss_before ORDER BY observed_at) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_before,
    (array_agg(xss_after ORDER BY observed_at DESC) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_after,
    (array_agg(ftp_before ORDER BY observed_at) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_before,
    (array_agg(ftp_after ORDER BY observed_at DESC) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_after
  FROM pass GROUP BY 1, 2, 3, 4
)
SELECT c.account_id, (min(c.observed_from) AT TIME ZONE 'UTC' + min(t.utc_offset))::date AS day_observed,
  count(*)::int AS activities,
  sum(c.xss_before) AS xss_before, sum(c.xss_after) AS xss_after, sum(c.xss_after) - sum(c.xss_before) AS xss_change,
  avg(c.ftp_before) AS ftp_before, avg(c.ftp_after) AS ftp_after,
  min(c.day) AS first_ride, max(c.day) AS last_ride, min(c.observed_from) AS observed_from, max(c.observed_to) AS observed_to
FROM changed c JOIN training.today t USING (account_id)
GROUP BY c.account_id, c.number
HAVING count(*) >= 5;
--> statement-breakpoint
COMMENT ON VIEW training.recalculations IS 'Derived: when the service changed the scores of its history. A row is five or more activities whose load, signature or status had a number before and has another, with less than an hour from one change seen to the next.';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."day_observed" IS 'Derived: day of observed_from, see today';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."activities" IS 'Number of activities that changed';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."xss_before" IS 'Derived: sum of the old xss of the activities whose xss changed; unit not told by the service; NULL when none did';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."xss_after" IS 'Derived: sum of the new xss of the same activities; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."xss_change" IS 'Derived: xss_after - xss_before; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."ftp_before" IS 'Derived: mean of the old sig_ftp of the activities whose sig_ftp changed, W; NULL when none did';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."ftp_after" IS 'Derived: mean of the new sig_ftp of the same activities, W';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."first_ride" IS 'Day of the first activity that changed, in its own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."last_ride" IS 'Day of the last activity that changed, in its own time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."observed_from" IS 'When the first of the changes was seen here';
--> statement-breakpoint
COMMENT ON COLUMN training.recalculations."observed_to" IS 'When the last of the changes was seen here';
