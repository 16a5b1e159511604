-- Postgres writes the body of each of these functions into the query that calls it.
CREATE FUNCTION training.local_time(instant timestamptz, timezone text) RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN instant AT TIME ZONE timezone;
COMMENT ON FUNCTION training.local_time(timestamptz, text) IS 'What a clock shows at an instant in a time zone, such as the one of today.';
CREATE FUNCTION training.local_day(instant timestamptz, timezone text) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (instant AT TIME ZONE timezone)::date;
COMMENT ON FUNCTION training.local_day(timestamptz, text) IS 'The day of an instant in a time zone, such as the one of today. The day of an activity is another: that of its own clock, started_at_local::date.';
CREATE FUNCTION training.start_of_day(day date, timezone text) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN day::timestamp AT TIME ZONE timezone;
COMMENT ON FUNCTION training.start_of_day(date, text) IS 'The instant at which a day begins in a time zone, such as the one of today.';
CREATE FUNCTION training.week_of(day date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('week', day::timestamp)::date;
COMMENT ON FUNCTION training.week_of(date) IS 'The Monday of the week of a day, by which all views name a week.';
CREATE FUNCTION training.month_of(day date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('month', day::timestamp)::date;
COMMENT ON FUNCTION training.month_of(date) IS 'The first day of the month of a day, by which all views name a month.';
CREATE FUNCTION training.season_of(day date) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN isfinite(day) THEN date_part('year', day)::integer END;
COMMENT ON FUNCTION training.season_of(date) IS 'The season of a day: its calendar year. NULL of infinity.';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.today AS
SELECT a.account_id, training.local_time(now(), clock.timezone) - training.local_time(now(), 'UTC') AS utc_offset, present.day,
  clock.timezone, clock.timezone_source, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT musette.zone_for_queries(zone.timezone, zone.utc_offset) AS timezone, zone.timezone_source
  FROM (
    (SELECT a.timezone, NULL::interval AS utc_offset, 'setting' AS timezone_source WHERE a.timezone IS NOT NULL)
    UNION ALL
    (SELECT v.timezone, v.started_at_local - v.started_at AT TIME ZONE 'UTC', v.timezone_source FROM training.activities v
    WHERE a.timezone IS NULL AND v.account_id = a.account_id AND v.absent_since IS NULL AND v.started_at IS NOT NULL
    ORDER BY v.started_at DESC LIMIT 1)
    UNION ALL
    (SELECT 'UTC', interval '0', 'unknown')
  ) zone
  LIMIT 1
  OFFSET 0
) clock
CROSS JOIN LATERAL (SELECT training.local_day(now(), clock.timezone) AS day) present;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.fitness_history AS
SELECT v.account_id, v.at, v.day, v.source, v.activity_id, v.ftp, v.hie_kj, v.pp, v.ltp, a.name AS account
FROM (
  SELECT account_id, started_at AS at, started_at_local::date AS day, 'activity' AS source, activity_id,
    sig_ftp AS ftp, sig_atc / 1000 AS hie_kj, sig_pp AS pp, prev_sig_ltp AS ltp
  FROM training.activities
  WHERE absent_since IS NULL AND started_at IS NOT NULL AND num_nonnulls(sig_ftp, sig_atc, sig_pp, prev_sig_ltp) > 0
  UNION ALL
  SELECT i.account_id, i.observed_at, training.local_day(i.observed_at, t.timezone), 'training_info', NULL, i.ftp, i.hie, i.pp, i.ltp
  FROM training.training_info i JOIN training.today t USING (account_id)
  WHERE num_nonnulls(i.ftp, i.hie, i.pp, i.ltp) > 0
) v
LEFT JOIN training.accounts a ON a.account_id = v.account_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.weekly_summary AS
SELECT a.account_id, week.week, week.activity_type, week.activities, week.elapsed_s, week.distance, week.total_calories,
  week.total_elevation_gain, week.low_xss, week.high_xss, week.peak_xss, week.xss, a.name AS account, week.sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT training.week_of(started_at_local::date) AS week, activity_type, count(*)::int AS activities,
    sum(elapsed_s) AS elapsed_s, sum(distance) AS distance, sum(total_calories) AS total_calories,
    sum(total_elevation_gain) AS total_elevation_gain,
    sum(xlss) AS low_xss, sum(xhss) AS high_xss, sum(xpss) AS peak_xss, sum(xss) AS xss, min(sport) AS sport
  FROM training.activities v
  WHERE v.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  GROUP BY 1, 2
) week;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.zones_by_week AS
SELECT a.account_id, zones.week, zones.activities, zones.power_z1_s, zones.power_z2_s, zones.power_z3_s, zones.power_z4_s,
  zones.power_z5_s, zones.power_z6_s, zones.power_z7_s, zones.hr_z1_s, zones.hr_z2_s, zones.hr_z3_s, zones.hr_z4_s, zones.hr_z5_s,
  zones.near_mpa_s, zones.above_ftp_s, a.name AS account, zones.sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT training.week_of(day) AS week, count(*)::int AS activities,
    sum(power_z1_s)::int AS power_z1_s, sum(power_z2_s)::int AS power_z2_s, sum(power_z3_s)::int AS power_z3_s,
    sum(power_z4_s)::int AS power_z4_s, sum(power_z5_s)::int AS power_z5_s, sum(power_z6_s)::int AS power_z6_s,
    sum(power_z7_s)::int AS power_z7_s, sum(hr_z1_s)::int AS hr_z1_s, sum(hr_z2_s)::int AS hr_z2_s,
    sum(hr_z3_s)::int AS hr_z3_s, sum(hr_z4_s)::int AS hr_z4_s, sum(hr_z5_s)::int AS hr_z5_s,
    sum(near_mpa_s)::int AS near_mpa_s, sum(above_ftp_s)::int AS above_ftp_s, sport
  FROM (
    SELECT * FROM training.ride_intensity i WHERE i.account_id = a.account_id AND day IS NOT NULL OFFSET 0
  ) i
  GROUP BY week, sport
) zones;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.recommended_load AS
SELECT t.account_id, told.told_on + n AS day, told.low_xss, told.high_xss, told.peak_xss, told.xss, told.told_on, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT *, lead(told_on) OVER (ORDER BY told_on) AS next FROM (
    SELECT DISTINCT ON (told_on) s.first + n AS told_on, i.target_low AS low_xss, i.target_high AS high_xss, i.target_peak AS peak_xss,
      i.target_total AS xss
    FROM training.training_info i
    CROSS JOIN LATERAL (
      SELECT training.local_day(i.observed_at, t.timezone) AS first, training.local_day(i.last_seen_at, t.timezone) AS last
    ) s
    CROSS JOIN LATERAL generate_series(0, s.last - s.first) AS n
    WHERE i.account_id = t.account_id AND i.target_total IS NOT NULL
    ORDER BY told_on, i.observed_at
  ) first_of_day
) told
CROSS JOIN LATERAL generate_series(0, coalesce(told.next, training.week_of(t.day) + 7) - told.told_on - 1) AS n;
--> statement-breakpoint
CREATE VIEW training.recommended_weeks AS
SELECT a.account_id, told.week, told.days, told.xss, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT training.week_of(day) AS week, count(*)::int AS days, CASE WHEN count(*) = 7 THEN sum(xss) END AS xss
  FROM training.recommended_load r WHERE r.account_id = a.account_id GROUP BY 1
) told;
COMMENT ON VIEW training.recommended_weeks IS 'Derived: the training load score that the service recommended for each week up to this one, see recommended_load.';
COMMENT ON COLUMN training.recommended_weeks.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recommended_weeks.week IS 'Monday of the week, see week_of()';
COMMENT ON COLUMN training.recommended_weeks.days IS 'Number of days of the week whose recommendation is known; fewer than seven in the first week only';
COMMENT ON COLUMN training.recommended_weeks.xss IS 'Recommended training load score of the seven days, summed; NULL unless all are known; unit not told by the service';
COMMENT ON COLUMN training.recommended_weeks.account IS 'Name of the account';
--> statement-breakpoint
CREATE VIEW training.this_week AS
SELECT t.account_id, each.day, each.activities, each.elapsed_s, each.distance, each.xss, each.recommended_xss, t.account
FROM training.today t
CROSS JOIN LATERAL (
  WITH recommended AS MATERIALIZED (SELECT r.day, r.xss FROM training.recommended_load r WHERE r.account_id = t.account_id)
  SELECT d.day, done.*, (SELECT r.xss FROM recommended r WHERE r.day = d.day) AS recommended_xss
  FROM generate_series(0, 6) AS n
  CROSS JOIN LATERAL (SELECT training.week_of(t.day) + n AS day) d
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS activities, coalesce(sum(v.elapsed_s), 0) AS elapsed_s, coalesce(sum(v.distance), 0) AS distance,
      coalesce(sum(v.xss), 0) AS xss
    FROM training.activities v
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at_local >= d.day AND v.started_at_local < d.day + 1
      -- No local time is further from UTC, and started_at has an index.
      AND v.started_at >= training.start_of_day(d.day - 1, 'UTC') AND v.started_at < training.start_of_day(d.day + 2, 'UTC')
  ) done
) each;
COMMENT ON VIEW training.this_week IS 'Derived: the seven days of the present week, see today, with what was done and what the service recommended.';
COMMENT ON COLUMN training.this_week.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.this_week.day IS 'Day, from Monday to Sunday';
COMMENT ON COLUMN training.this_week.activities IS 'Number of activities that started on that day of their own clock';
COMMENT ON COLUMN training.this_week.elapsed_s IS 'Their elapsed_s, summed, s; 0 where none is known';
COMMENT ON COLUMN training.this_week.distance IS 'Their distance, summed, km; 0 where none is known';
COMMENT ON COLUMN training.this_week.xss IS 'Their training load score, summed; 0 where none is known; unit not told by the service';
COMMENT ON COLUMN training.this_week.recommended_xss IS 'Recommended training load score of that day, see recommended_load; NULL before the first training info; unit not told by the service';
COMMENT ON COLUMN training.this_week.account IS 'Name of the account';
--> statement-breakpoint
CREATE VIEW training.form_now AS
SELECT a.account_id, f.at, f.day, f.activity_id, f.tl_ftp, f.tl_hie, f.tl_pp, f.tl_total, f.rl_ftp, f.rl_hie, f.rl_pp, f.rl_total, f.form,
  f.training_status, f.freshness, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT at, day, activity_id, tl_ftp, tl_hie, tl_pp, tl_total, rl_ftp, rl_hie, rl_pp, rl_total, form, training_status, freshness
  FROM training.form_history h
  WHERE h.account_id = a.account_id AND h.form IS NOT NULL ORDER BY h.at DESC, h.activity_id DESC LIMIT 1
) f;
COMMENT ON VIEW training.form_now IS 'Form and loads after the last activity with a form: the newest row of form_history that has one.';
COMMENT ON COLUMN training.form_now.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_now.at IS 'Start of the activity';
COMMENT ON COLUMN training.form_now.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.form_now.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.form_now.tl_ftp IS 'Training load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_hie IS 'Training load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_pp IS 'Training load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_total IS 'Derived: tl_ftp + tl_hie + tl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_now.rl_ftp IS 'Recovery load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_hie IS 'Recovery load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_pp IS 'Recovery load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_total IS 'Derived: rl_ftp + rl_hie + rl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_now.form IS 'Form; unit not told by the service';
COMMENT ON COLUMN training.form_now.training_status IS 'Training status as a number; unit not told by the service';
COMMENT ON COLUMN training.form_now.freshness IS 'Freshness, in the words of the service';
COMMENT ON COLUMN training.form_now.account IS 'Name of the account';
