-- Which samples are the recording, which kind of sport an activity is, and one definition of the recommended load. What is derived from
-- samples is computed anew where stray_samples is NULL: when the daemon starts, by sync and by rebuild.
CREATE FUNCTION training.sport_of(activity_type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN activity_type ~* 'motor|snowmob' THEN 'other'
  WHEN activity_type ~* 'swim' THEN 'swimming'
  WHEN activity_type ~* '(\m|virtual|trail)run|running|jog|treadmill' THEN 'running'
  WHEN activity_type ~* 'cycl|bik(e|ing)|(\m|virtual)rid(e|ing)\M|spinning|\mmtb\M|\mbmx\M|gravel|velodrom' THEN 'cycling'
  ELSE 'other'
END;
COMMENT ON FUNCTION training.sport_of(text) IS 'The kind of sport of an activity_type: cycling, running, swimming, or other for all the rest and for NULL. By the words in it: Virtual Cycling, Mountain Biking and Gravel Ride are cycling.';
CREATE FUNCTION training.in_main_run(t timestamptz, recorded_from timestamptz, elapsed_s double precision) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(t >= recorded_from AND t <= recorded_from + (elapsed_s + 1) * interval '1 second', true);
COMMENT ON FUNCTION training.in_main_run(timestamptz, timestamptz, double precision) IS 'Whether a sample is of the main run of its activity and no stray, by the columns of samples and activities with these names; see stray_samples of activities.';
--> statement-breakpoint
-- Computed while the table is written anew, which needs no second version of each row and fires no trigger.
ALTER TABLE training.activities ADD COLUMN stray_samples integer, ADD COLUMN recorded_from timestamptz,
  ADD COLUMN sport text NOT NULL GENERATED ALWAYS AS (training.sport_of(activity_type)) STORED;
--> statement-breakpoint
ALTER TABLE training.activities ALTER COLUMN sport DROP EXPRESSION;
--> statement-breakpoint
ALTER TABLE training.activities ALTER COLUMN sport SET DEFAULT 'other';
COMMENT ON COLUMN training.activities.stray_samples IS 'Derived: number of samples that are not of the main run of the recording, because the clock of the device jumped; they stay in samples as sent, and elapsed_s, place, power curve, zones and measures leave them out. Runs begin where more than a day lies between two samples; the main run has the most samples, of equal ones it is the last. None is left out where all samples span 7 days or less and the service''s duration is unknown or more than 1.5 times the main run. NULL without samples, and until an older database is completed';
COMMENT ON COLUMN training.activities.recorded_from IS 'Derived: time of the first sample of the main run, see stray_samples; the view ride_samples has the samples of it';
COMMENT ON COLUMN training.activities.sport IS 'Derived: kind of sport, from activity_type: cycling, running, swimming or other, see sport_of()';
COMMENT ON COLUMN training.activities.elapsed_s IS 'Derived: seconds from the first sample to the last of the main run, see stray_samples';
COMMENT ON COLUMN training.weekly_summary.elapsed_s IS 'Derived: seconds from the first sample to the last of each activity, see elapsed_s of activities, summed; activities without samples are missing in it';
CREATE FUNCTION musette.set_sport() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.sport := training.sport_of(NEW.activity_type);
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION musette.set_sport() IS 'Derives the kind of sport of an activity from its type.';
CREATE TRIGGER set_sport BEFORE INSERT OR UPDATE OF activity_type, sport ON training.activities
  FOR EACH ROW EXECUTE FUNCTION musette.set_sport();
CREATE OR REPLACE FUNCTION musette.content(activity training.activities) RETURNS jsonb LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT to_jsonb(activity) - '{summary,detail_state,first_seen_at,updated_at,listed_at,fetched_at,verified_at,wanted_at,list_fields,detail_fields,next_fetch_at,fetch_attempts,fetch_error,stray_samples,recorded_from,sport}'::text[]
$$;
COMMENT ON FUNCTION musette.content(training.activities) IS 'The columns of an activity that its changes are about: all but those that serve fetching, and those that follow from others. The hash of the summary stands for the summary.';
--> statement-breakpoint
ALTER TABLE training.power_curves ADD COLUMN sport text;
COMMENT ON COLUMN training.power_curves.sport IS 'Derived: kind of sport of the activity, see activities. For the view power_bests';
COMMENT ON COLUMN training.power_curves.duration_s IS 'Length of the window, s: 1 to 10 each, 12, 15, 18, 20 to 50 by 5, 60, 75, 90, 105, 120, 150, 180, 210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1080, 1200, 1500, 1800, 2100, 2400, 2700, 3000, 3600, 4500, 5400, 6300, 7200, 9000, 10800, 12600, 14400, 18000, 21600, 25200, 28800, 36000 and 43200, as far as the activity is longer, and one point more at its own length, which is no length of other activities and not in power_bests';
COMMENT ON COLUMN training.power_curves.watts IS 'Best mean power in any window of that length, W; from p_raw where the activity has it, else from power, see source. Recording gaps and seconds without power count as zero watts; of several samples in one second the last counts. Strays are left out, see stray_samples of activities';
DROP INDEX training.power_curves_best;
UPDATE training.power_curves c SET sport = a.sport FROM training.activities a WHERE a.activity_id = c.activity_id;
CREATE INDEX power_curves_best
  ON training.power_curves (account_id, sport, season, duration_s, watts DESC, started_at_local, activity_id);
CREATE OR REPLACE FUNCTION musette.move_derived() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE training.activity_intensity SET account_id = NEW.account_id, day = NEW.started_at_local::date,
    month = coalesce(date_trunc('month', NEW.started_at_local)::date, '-infinity'), absent = NEW.absent_since IS NOT NULL
  WHERE activity_id = NEW.activity_id;
  IF (OLD.started_at_local, OLD.sport) IS DISTINCT FROM (NEW.started_at_local, NEW.sport) THEN
    UPDATE training.power_curves SET account_id = NEW.account_id, season = date_part('year', NEW.started_at_local),
      started_at_local = NEW.started_at_local, sport = NEW.sport
    WHERE activity_id = NEW.activity_id;
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.move_derived() IS 'Keeps power_curves and activity_intensity in step with an activity whose start or sport has changed, or that the service lists no more or again.';
DROP TRIGGER move_derived ON training.activities;
CREATE TRIGGER move_derived AFTER UPDATE OF started_at_local, absent_since, activity_type, sport ON training.activities
  FOR EACH ROW WHEN ((OLD.started_at_local, OLD.sport) IS DISTINCT FROM (NEW.started_at_local, NEW.sport)
    OR (OLD.absent_since IS NULL) <> (NEW.absent_since IS NULL))
  EXECUTE FUNCTION musette.move_derived();
--> statement-breakpoint
CREATE OR REPLACE VIEW training.weekly_summary AS
SELECT a.account_id, week.week, week.activity_type, week.activities, week.elapsed_s, week.distance, week.total_calories,
  week.total_elevation_gain, week.low_xss, week.high_xss, week.peak_xss, week.xss, a.name AS account, week.sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', started_at_local)::date AS week, activity_type, count(*)::int AS activities,
    sum(elapsed_s) AS elapsed_s, sum(distance) AS distance, sum(total_calories) AS total_calories,
    sum(total_elevation_gain) AS total_elevation_gain,
    sum(xlss) AS low_xss, sum(xhss) AS high_xss, sum(xpss) AS peak_xss, sum(xss) AS xss, min(sport) AS sport
  FROM training.activities v
  WHERE v.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  GROUP BY 1, 2
) week;
COMMENT ON COLUMN training.weekly_summary.sport IS 'Derived: kind of sport of the activity_type, see activities';
CREATE OR REPLACE VIEW training.records AS
SELECT v.account_id, v.activity_id, v.started_at_local::date AS day, v.name, v.medal, v.breakthrough,
  v.prev_sig_ftp AS ftp_before, v.sig_ftp AS ftp_after, v.sig_ftp - v.prev_sig_ftp AS ftp_change,
  v.prev_sig_pp AS pp_before, v.sig_pp AS pp_after, v.sig_pp - v.prev_sig_pp AS pp_change,
  v.prev_sig_atc AS atc_before, v.sig_atc AS atc_after, v.sig_atc - v.prev_sig_atc AS atc_change, a.name AS account, v.sport
FROM training.activities v LEFT JOIN training.accounts a ON a.account_id = v.account_id
WHERE v.absent_since IS NULL AND (v.medal > 0 OR v.breakthrough > 0);
COMMENT ON COLUMN training.records.sport IS 'Derived: kind of sport, see activities';
--> statement-breakpoint
-- The seasons of an account and the best of each are single reads of the index power_curves_best, see there; sports are the outer
-- step, so that a best of all sports is the largest of a few rows.
CREATE OR REPLACE VIEW training.power_bests AS
SELECT t.account_id, best.span, best.season, best.duration_s, best.watts, best.activity_id, best.day, best.source, t.account, best.sport
FROM training.today t
CROSS JOIN LATERAL (
  WITH RECURSIVE known AS (
    (SELECT c.sport, c.season FROM training.power_curves c
    WHERE c.account_id = t.account_id AND c.season IS NOT NULL ORDER BY c.sport, c.season LIMIT 1)
    UNION ALL
    SELECT next.sport, next.season FROM known k CROSS JOIN LATERAL (
      SELECT c.sport, c.season FROM training.power_curves c
      WHERE c.account_id = t.account_id AND (c.sport, c.season) > (k.sport, k.season) AND c.season IS NOT NULL
      ORDER BY c.sport, c.season LIMIT 1
    ) next
  ), duration AS (
    SELECT unnest('{1,2,3,4,5,6,7,8,9,10,12,15,18,20,25,30,35,40,45,50,60,75,90,105,120,150,180,210,240,270,300,360,420,480,540,600,720,840,
      900,1080,1200,1500,1800,2100,2400,2700,3000,3600,4500,5400,6300,7200,9000,10800,12600,14400,18000,21600,25200,28800,36000,43200}'::int[]) AS duration_s
  ), season_best AS MATERIALIZED (
    SELECT s.sport, s.season, d.duration_s, best.*
    FROM unnest(ARRAY(SELECT sport FROM known), ARRAY(SELECT season FROM known)) AS s (sport, season)
    CROSS JOIN duration d
    CROSS JOIN LATERAL (
      SELECT c.watts, c.activity_id, v.started_at_local::date AS day, c.source
      FROM training.power_curves c JOIN training.activities v USING (activity_id)
      WHERE c.account_id = t.account_id AND c.sport = s.sport AND c.season = s.season AND c.duration_s = d.duration_s
        AND v.absent_since IS NULL
      ORDER BY c.watts DESC, c.started_at_local, c.activity_id LIMIT 1
    ) best
  ), all_time AS (
    SELECT DISTINCT ON (sport, duration_s) * FROM season_best ORDER BY sport, duration_s, watts DESC, season
  ), recent AS (
    SELECT DISTINCT ON (v.sport, c.duration_s)
      v.sport, c.duration_s, c.watts, v.activity_id, v.started_at_local::date AS day, c.source
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT duration_s, watts, source FROM training.power_curves WHERE power_curves.activity_id = v.activity_id OFFSET 0
    ) c
    JOIN duration USING (duration_s)
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at > now() - interval '92 days'
      AND v.started_at_local::date BETWEEN t.day - 89 AND t.day
    ORDER BY v.sport, c.duration_s, c.watts DESC, v.started_at_local, v.activity_id
  )
  SELECT 'all time' AS span, NULL::int AS season, duration_s, watts, activity_id, day, source, sport FROM all_time
  UNION ALL
  SELECT 'season', season, duration_s, watts, activity_id, day, source, sport FROM season_best
  UNION ALL
  SELECT 'last 90 days', NULL, duration_s, watts, activity_id, day, source, sport FROM recent
) best;
COMMENT ON VIEW training.power_bests IS 'Derived: the best mean power of each sport for about 60 durations, over all time, in each season and in the last 90 days, and which activity holds it (the earliest of equals). A rider of several sports has a row for each of them: ask for one, such as sport = ''cycling'', or for max(watts) over all. From power_curves.';
COMMENT ON COLUMN training.power_bests.sport IS 'Derived: kind of sport of that activity, see activities';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.ride_intensity AS
SELECT a.account_id, i.activity_id, i.day, i.ftp,
  i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s, hr.hr_max,
  i.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, i.near_mpa_s, i.above_ftp_s, i.hr_peak, i.sample_spacing_s, a.name AS account,
  (SELECT v.sport FROM training.activities v WHERE v.activity_id = i.activity_id) AS sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS highest
  FROM training.activity_intensity p WHERE p.account_id = a.account_id AND NOT p.absent GROUP BY month
) h
CROSS JOIN LATERAL (SELECT coalesce(a.max_hr, h.highest) AS hr_max) hr
JOIN training.activity_intensity i ON i.account_id = a.account_id AND i.month = h.month AND NOT i.absent
LEFT JOIN LATERAL (
  SELECT coalesce(i.hr_at_least_s[(hr.hr_max * 6 + 9) / 10], 0) AS s60, coalesce(i.hr_at_least_s[(hr.hr_max * 7 + 9) / 10], 0) AS s70,
    coalesce(i.hr_at_least_s[(hr.hr_max * 8 + 9) / 10], 0) AS s80, coalesce(i.hr_at_least_s[(hr.hr_max * 9 + 9) / 10], 0) AS s90
  WHERE hr.hr_max IS NOT NULL AND i.hr_at_least_s IS NOT NULL
) z ON true;
COMMENT ON VIEW training.ride_intensity IS 'Derived: how many seconds of each activity with samples were how hard. Power zones are shares of that day''s threshold power, heart rate zones of the highest heart rate hr_max. Each sample counts for the seconds until the next one, see sample_spacing_s; recording gaps do not count; power is p_raw where the activity has it, else power.';
COMMENT ON COLUMN training.ride_intensity.hr_max IS 'Highest heart rate, 1/min, that the zones are shares of: max_hr of accounts where it is set, else derived: the highest hr_peak of the account in that month and the twelve before it; NULL without either';
COMMENT ON COLUMN training.ride_intensity.hr_peak IS 'Derived: the highest heart rate that was reached for 10 s in a row, 1/min';
COMMENT ON COLUMN training.ride_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0; NULL when no second has power and such an mpa';
COMMENT ON COLUMN training.ride_intensity.sport IS 'Derived: kind of sport, see activities';
COMMENT ON COLUMN training.activity_intensity.hr_peak IS 'Derived: the highest heart rate that was reached for 10 s in a row, without a break of the recording, 1/min, so that spikes of a sensor do not count; NULL when none was';
COMMENT ON COLUMN training.activity_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0; NULL when no second has power and such an mpa';
COMMENT ON COLUMN training.zones_by_week.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0';
COMMENT ON COLUMN training.accounts.max_hr IS 'Highest heart rate of the rider, 1/min, for the zones in ride_intensity and TRIMP in ride_overview. NULL when it is not set, and then the highest of twelve months counts: musette accounts set NAME --max-hr N';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.zones_by_week AS
SELECT a.account_id, zones.week, zones.activities, zones.power_z1_s, zones.power_z2_s, zones.power_z3_s, zones.power_z4_s,
  zones.power_z5_s, zones.power_z6_s, zones.power_z7_s, zones.hr_z1_s, zones.hr_z2_s, zones.hr_z3_s, zones.hr_z4_s, zones.hr_z5_s,
  zones.near_mpa_s, zones.above_ftp_s, a.name AS account, zones.sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', day::timestamp)::date AS week, count(*)::int AS activities,
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
COMMENT ON VIEW training.zones_by_week IS 'Derived: ride_intensity summed over each week and sport; each activity counts with the threshold power and the highest heart rate of its own time. A sum is NULL when no activity of them has the number. A rider of several sports has a row for each of them in a week: ask for one, or add them up.';
COMMENT ON COLUMN training.zones_by_week.sport IS 'Derived: kind of sport of the activities, see there';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.ride_overview AS
SELECT c.account_id, i.activity_id, i.day, v.started_at, v.name, v.activity_type, v.elapsed_s, v.distance, v.xss, i.ftp,
  m.moving_s, m.coasting_s, m.coasting_pct, m.work_kj, m.mean_power, m.weighted_power, m.variability, m.intensity,
  m.mean_hr, m.efficiency, m.decoupling_pct, m.hr_drift_pct, m.ascent_m, m.descent_m, m.longest_climb_from_s,
  m.longest_climb_s, m.longest_climb_gain_m, m.longest_climb_length_m, m.longest_climb_grade_pct, m.longest_climb_vam,
  m.steepest_climb_from_s, m.steepest_climb_s, m.steepest_climb_gain_m, m.steepest_climb_length_m,
  m.steepest_climb_grade_pct, m.steepest_climb_vam, m.best_hr_1_min, m.best_hr_5_min, m.best_hr_20_min,
  m.best_hr_60_min, m.best_speed_1_min, m.best_speed_5_min, m.best_speed_20_min, m.best_speed_60_min,
  m.best_1_min_after_1000_kj, m.best_5_min_after_1000_kj, m.best_20_min_after_1000_kj, m.best_1_min_after_2000_kj,
  m.best_5_min_after_2000_kj, m.best_20_min_after_2000_kj, m.best_1_min_after_3000_kj, m.best_5_min_after_3000_kj,
  m.best_20_min_after_3000_kj,
  r.hr_max, c.resting_hr AS hr_rest,
  (SELECT sum(coalesce(i.hr_at_least_s[(r.hr_max * tenth + 9) / 10], 0)) / 60.0::float8 FROM generate_series(5, 9) AS tenth
   WHERE i.hr_at_least_s IS NOT NULL AND r.hr_max IS NOT NULL) AS trimp_edwards,
  (SELECT sum((i.hr_at_least_s[beats] - coalesce(i.hr_at_least_s[beats + 1], 0)) / 60.0::float8 * 0.64 * reserve * exp(1.92 * reserve))
   FROM generate_series(1, cardinality(i.hr_at_least_s)) AS beats
   CROSS JOIN LATERAL (SELECT least(greatest((beats - c.resting_hr)::float8 / (r.hr_max - c.resting_hr), 0), 1) AS reserve) share
   WHERE c.resting_hr < r.hr_max) AS trimp_banister_men,
  (SELECT sum((i.hr_at_least_s[beats] - coalesce(i.hr_at_least_s[beats + 1], 0)) / 60.0::float8 * 0.86 * reserve * exp(1.67 * reserve))
   FROM generate_series(1, cardinality(i.hr_at_least_s)) AS beats
   CROSS JOIN LATERAL (SELECT least(greatest((beats - c.resting_hr)::float8 / (r.hr_max - c.resting_hr), 0), 1) AS reserve) share
   WHERE c.resting_hr < r.hr_max) AS trimp_banister_women,
  f.min_temperature, f.avg_temperature, f.max_temperature, f.right_power_pct, c.name AS account, v.sport
FROM training.accounts c
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS highest
  FROM training.activity_intensity p WHERE p.account_id = c.account_id AND NOT p.absent GROUP BY month
) h
CROSS JOIN LATERAL (SELECT coalesce(c.max_hr, h.highest) AS hr_max) r
JOIN training.activity_intensity i ON i.account_id = c.account_id AND i.month = h.month AND NOT i.absent
CROSS JOIN LATERAL (SELECT * FROM training.ride_measures WHERE ride_measures.activity_id = i.activity_id OFFSET 0) m
CROSS JOIN LATERAL (
  SELECT started_at, name, activity_type, elapsed_s, distance, xss, sport
  FROM training.activities WHERE activities.activity_id = i.activity_id OFFSET 0
) v
-- The file of ride_files.
LEFT JOIN LATERAL (
  SELECT x.min_temperature, x.avg_temperature, x.max_temperature, x.right_power_pct
  FROM training.uploads u JOIN training.fit_files x ON x.account_id = u.account_id AND x.content_id = u.content_id
  WHERE u.activity_id = i.activity_id AND u.account_id = c.account_id
  ORDER BY u.state = 'duplicate', x.problem IS NOT NULL, u.seen_at, u.content_id LIMIT 1
) f ON true;
COMMENT ON COLUMN training.ride_overview.sport IS 'Derived: kind of sport, see activities';
COMMENT ON COLUMN training.ride_overview.elapsed_s IS 'Derived: seconds from the first sample to the last of the main run, see stray_samples of activities';
COMMENT ON COLUMN training.ride_overview.hr_max IS 'Highest heart rate that TRIMP is computed with, 1/min: hr_max of ride_intensity, which is too low for a rider who has not set it and never went that hard. NULL where it is not known';
COMMENT ON COLUMN training.ride_measures.ascent_m IS 'Derived: climbed height, m: of the means of alt up to 5 s before and after each sample, to the centimetre, one counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. NULL without alt';
COMMENT ON COLUMN training.ride_measures.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s. Where dist falls back, or jumps by more than 50 m/s, it is off, which is no way, until it goes on from its highest, so that nothing is ridden twice; when it is off for more than 10 s, it begins anew. NULL without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.ascent_m IS 'Derived: climbed height, m: of the means of alt up to 5 s before and after each sample, to the centimetre, one counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. NULL without alt';
COMMENT ON COLUMN training.ride_overview.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s. Where dist falls back, or jumps by more than 50 m/s, it is off, which is no way, until it goes on from its highest, so that nothing is ridden twice; when it is off for more than 10 s, it begins anew. NULL without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
--> statement-breakpoint
CREATE VIEW training.ride_samples AS
SELECT a.account_id, a.activity_id, s.t, s.from_s, s.held_s, s.power, s.mpa, s.cad, s.alt, s.hr, s.spd, s.tgt, s.lat, s.lng, s.dist, s.tws, s.xds, s.p_raw, s.lws, s.hws, s.pws, s.ordinal, c.name AS account
FROM training.activities a
LEFT JOIN training.accounts c ON c.account_id = a.account_id
LEFT JOIN training.activity_intensity i ON i.activity_id = a.activity_id
CROSS JOIN LATERAL (
  SELECT *, extract(epoch FROM t - min(t) OVER w)::float8 AS from_s,
    CASE WHEN step < 2 * coalesce(i.sample_spacing_s, 1) THEN step ELSE coalesce(i.sample_spacing_s, 1) END AS held_s
  FROM (
    SELECT *, extract(epoch FROM date_trunc('second', lead(t) OVER (ORDER BY t, ordinal)) - date_trunc('second', t))::int AS step
    FROM training.samples
    WHERE samples.activity_id = a.activity_id AND t IS NOT NULL AND training.in_main_run(t, a.recorded_from, a.elapsed_s)
  ) each
  WINDOW w AS (ORDER BY t, ordinal)
) s
WHERE a.absent_since IS NULL;
COMMENT ON VIEW training.ride_samples IS 'The samples of each activity without strays, see stray_samples of activities, with the seconds that each lasts. Ask for one activity, or give them one by one.';
COMMENT ON COLUMN training.ride_samples.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_samples.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_samples.from_s IS 'Derived: seconds since the first sample of the main run';
COMMENT ON COLUMN training.ride_samples.held_s IS 'Derived: seconds that the sample lasts, until the next one when that is less than two of sample_spacing_s away, see activity_intensity; 0 where another of the same second follows. Sum it to count time';
COMMENT ON COLUMN training.ride_samples.account IS 'Name of the account';
DO $$
DECLARE
  of_samples record;
BEGIN
  FOR of_samples IN SELECT attname, col_description(attrelid, attnum) AS description FROM pg_attribute
    WHERE attrelid = 'training.samples'::regclass AND attnum > 0 AND attname <> 'activity_id' AND NOT attisdropped
  LOOP
    EXECUTE format('COMMENT ON COLUMN training.ride_samples.%I IS %L', of_samples.attname, of_samples.description);
  END LOOP;
END
$$;
--> statement-breakpoint
CREATE VIEW training.recommended_load AS
SELECT t.account_id, told.told_on + n AS day, told.low_xss, told.high_xss, told.peak_xss, told.xss, told.told_on, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT *, lead(told_on) OVER (ORDER BY told_on) AS next FROM (
    SELECT DISTINCT ON (told_on) s.first + n AS told_on, i.target_low AS low_xss, i.target_high AS high_xss, i.target_peak AS peak_xss,
      i.target_total AS xss
    FROM training.training_info i
    CROSS JOIN LATERAL (
      SELECT (i.observed_at AT TIME ZONE t.timezone)::date AS first, (i.last_seen_at AT TIME ZONE t.timezone)::date AS last
    ) s
    CROSS JOIN LATERAL generate_series(0, s.last - s.first) AS n
    WHERE i.account_id = t.account_id AND i.target_total IS NOT NULL
    ORDER BY told_on, i.observed_at
  ) first_of_day
) told
CROSS JOIN LATERAL generate_series(0, coalesce(told.next, date_trunc('week', t.day::timestamp)::date + 7) - told.told_on - 1) AS n;
COMMENT ON VIEW training.recommended_load IS 'Derived: the training load score that the service recommended for each day, up to the Sunday of this week: the first recommendation that was seen on the day, before the ride of the day lowers it. A day on which musette did not ask, and a day to come, has that of the last day on which it did, see told_on.';
COMMENT ON COLUMN training.recommended_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recommended_load.day IS 'Day where the rider is, see today';
COMMENT ON COLUMN training.recommended_load.low_xss IS 'Recommended training load score, low (target_low of training_info); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.high_xss IS 'Recommended training load score, high (target_high); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.peak_xss IS 'Recommended training load score, peak (target_peak); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.xss IS 'Recommended training load score, total (target_total); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.told_on IS 'Day on which the service told it: the day itself where musette asked on it';
COMMENT ON COLUMN training.recommended_load.account IS 'Name of the account';
