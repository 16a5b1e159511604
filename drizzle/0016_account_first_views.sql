COMMENT ON COLUMN training.power_curves."started_at_local" IS 'Start of the activity on its own wall clock; NULL when it cannot be read. For the view power_bests';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."source" IS 'Column of samples that the point was computed from: p_raw (power of each second) or power (mean of 5 s), which is lower over short durations; NULL when it is not known any more';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."watts" IS 'Best mean power in any window of that length, W; from p_raw where the activity has it, else from power, see source. Recording gaps count as zero watts';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."account_id" IS 'Account of the activity, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."day" IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."month" IS 'Derived: first day of the month of day, -infinity when that is not known. For the view ride_intensity';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."absent" IS 'Whether the service does not list the activity any more, see activities.absent_since';
--> statement-breakpoint
DROP TRIGGER move_season ON training.activities;
--> statement-breakpoint
DROP FUNCTION musette.move_season();
--> statement-breakpoint
CREATE FUNCTION musette.move_derived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE training.activity_intensity SET account_id = NEW.account_id, day = NEW.started_at_local::date,
    month = coalesce(date_trunc('month', NEW.started_at_local)::date, '-infinity'), absent = NEW.absent_since IS NOT NULL
  WHERE activity_id = NEW.activity_id;
  IF OLD.started_at_local IS DISTINCT FROM NEW.started_at_local THEN
    UPDATE training.power_curves SET account_id = NEW.account_id, season = date_part('year', NEW.started_at_local),
      started_at_local = NEW.started_at_local
    WHERE activity_id = NEW.activity_id;
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.move_derived() IS 'Keeps power_curves and activity_intensity in step with an activity whose start has moved, or that the service lists no more or again.';
--> statement-breakpoint
CREATE TRIGGER move_derived AFTER UPDATE OF started_at_local, absent_since ON training.activities
  FOR EACH ROW WHEN (OLD.started_at_local IS DISTINCT FROM NEW.started_at_local
    OR (OLD.absent_since IS NULL) <> (NEW.absent_since IS NULL))
  EXECUTE FUNCTION musette.move_derived();
--> statement-breakpoint
-- These have no primary key, and a table of a publication that has neither refuses every UPDATE and DELETE.
ALTER TABLE training.samples REPLICA IDENTITY FULL;
--> statement-breakpoint
ALTER TABLE training.activity_revisions REPLICA IDENTITY FULL;
--> statement-breakpoint
ALTER TABLE training.workouts REPLICA IDENTITY FULL;
--> statement-breakpoint
-- A plan rests on the number of accounts; autovacuum looks at a table from 50 rows on unless it is told another number.
ALTER TABLE training.accounts SET (autovacuum_analyze_threshold = 1);
--> statement-breakpoint
ANALYZE training.accounts;
--> statement-breakpoint
-- The views below go from an account to what is its own: a condition on the account, or a join with one row, reads the rows of that
-- account only. It does not pass through WITH ... AS MATERIALIZED, DISTINCT ON or a window otherwise.
CREATE OR REPLACE VIEW training.today AS
SELECT a.account_id, clock.utc_offset, (now() AT TIME ZONE 'UTC' + clock.utc_offset)::date AS day
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT coalesce((
    SELECT v.started_at_local - v.started_at AT TIME ZONE 'UTC' FROM training.activities v
    WHERE v.account_id = a.account_id AND v.absent_since IS NULL AND v.started_at IS NOT NULL
    ORDER BY v.started_at DESC LIMIT 1
  ), interval '0') AS utc_offset
  OFFSET 0
) clock;
--> statement-breakpoint
-- Days are counted as whole numbers: steps of one day between moments would depend on the time zone of the session. Grouped
-- and not joined: a join is a matter of seconds for as long as Postgres has no statistics of a new mirror.
CREATE OR REPLACE VIEW training.daily_load AS
SELECT t.account_id, load.*
FROM training.today t
CROSS JOIN LATERAL (
  WITH ride AS NOT MATERIALIZED (
    SELECT activity_id, started_at_local::date AS day, xlss, xhss, xpss, xss
    FROM training.activities
    WHERE activities.account_id = t.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  ), entry AS (
    SELECT * FROM ride
    UNION ALL
    SELECT NULL, first + generate_series(0, greatest(last, t.day) - first), NULL, NULL, NULL, NULL
    FROM (SELECT min(day) AS first, max(day) AS last FROM ride) span WHERE first IS NOT NULL
  )
  SELECT day, count(activity_id)::int AS activities,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xlss) END AS low_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xhss) END AS high_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xpss) END AS peak_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xss) END AS xss,
    (count(activity_id) - count(xss))::int AS without_xss
  FROM entry GROUP BY day
) load;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.weekly_summary AS
SELECT a.account_id, week.*
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', started_at_local)::date AS week, activity_type, count(*)::int AS activities,
    sum(elapsed_s) AS elapsed_s, sum(distance) AS distance, sum(total_calories) AS total_calories,
    sum(total_elevation_gain) AS total_elevation_gain,
    sum(xlss) AS low_xss, sum(xhss) AS high_xss, sum(xpss) AS peak_xss, sum(xss) AS xss
  FROM training.activities v
  WHERE v.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  GROUP BY 1, 2
) week;
--> statement-breakpoint
-- The seasons of an account and the best of each are looks into the index power_curves_best, which holds equal watts in the order
-- of their starts; all time is the best of the seasons. Seasons go through unnest() because Postgres takes that for 10 rows: by its
-- other guesses it would spend 50 ms on compiling the plan (jit).
CREATE OR REPLACE VIEW training.power_bests AS
SELECT t.account_id, best.span, best.season, best.duration_s, best.watts, best.activity_id, best.day, best.source
FROM training.today t
CROSS JOIN LATERAL (
  WITH RECURSIVE known (season) AS (
    SELECT min(c.season) FROM training.power_curves c WHERE c.account_id = t.account_id
    UNION ALL
    SELECT (SELECT min(c.season) FROM training.power_curves c WHERE c.account_id = t.account_id AND c.season > k.season)
    FROM known k WHERE k.season IS NOT NULL
  ), duration AS (
    SELECT unnest('{1,2,3,4,5,6,7,8,9,10,12,15,18,20,25,30,35,40,45,50,60,75,90,105,120,150,180,210,240,270,300,360,420,480,540,600,
      720,840,900,1080,1200,1500,1800,2100,2400,2700,3000,3600,4500,5400,6300,7200,9000,10800,12600,14400,18000,21600,25200,28800,
      36000,43200}'::int[]) AS duration_s
  ), season_best AS MATERIALIZED (
    SELECT s.season, d.duration_s, best.*
    FROM (SELECT unnest(ARRAY(SELECT season FROM known WHERE season IS NOT NULL)) AS season) s
    CROSS JOIN duration d
    CROSS JOIN LATERAL (
      SELECT c.watts, c.activity_id, v.started_at_local::date AS day, c.source
      FROM training.power_curves c JOIN training.activities v USING (activity_id)
      WHERE c.account_id = t.account_id AND c.season = s.season AND c.duration_s = d.duration_s AND v.absent_since IS NULL
      ORDER BY c.watts DESC, c.started_at_local, c.activity_id LIMIT 1
    ) best
  ), all_time AS (
    SELECT DISTINCT ON (duration_s) * FROM season_best ORDER BY duration_s, watts DESC, season
  ), recent AS (
    SELECT DISTINCT ON (c.duration_s)
      c.duration_s, c.watts, v.activity_id, v.started_at_local::date AS day, c.source
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT duration_s, watts, source FROM training.power_curves WHERE power_curves.activity_id = v.activity_id OFFSET 0
    ) c
    JOIN duration USING (duration_s)
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at > now() - interval '92 days'
      AND v.started_at_local::date BETWEEN t.day - 89 AND t.day
    ORDER BY c.duration_s, c.watts DESC, v.started_at_local, v.activity_id
  )
  SELECT 'all time' AS span, NULL::int AS season, duration_s, watts, activity_id, day, source FROM all_time
  UNION ALL
  SELECT 'season', season, duration_s, watts, activity_id, day, source FROM season_best
  UNION ALL
  SELECT 'last 90 days', NULL, duration_s, watts, activity_id, day, source FROM recent
) best;
--> statement-breakpoint
COMMENT ON COLUMN training.power_bests."source" IS 'Column of samples that it was computed from, p_raw or power, see power_curves';
--> statement-breakpoint
-- The highest heart rates of an account's months come from an index alone. By months, because the highest of a window that slides
-- from ride to ride is ten times as slow.
CREATE OR REPLACE VIEW training.ride_intensity AS
SELECT a.account_id, i.activity_id, i.day, i.ftp,
  i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s, h.hr_max,
  i.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, i.near_mpa_s, i.above_ftp_s, i.hr_peak
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS hr_max
  FROM training.activity_intensity p WHERE p.account_id = a.account_id AND NOT p.absent GROUP BY month
) h
JOIN training.activity_intensity i ON i.account_id = a.account_id AND i.month = h.month AND NOT i.absent
LEFT JOIN LATERAL (
  SELECT coalesce(i.hr_at_least_s[(h.hr_max * 6 + 9) / 10], 0) AS s60, coalesce(i.hr_at_least_s[(h.hr_max * 7 + 9) / 10], 0) AS s70,
    coalesce(i.hr_at_least_s[(h.hr_max * 8 + 9) / 10], 0) AS s80, coalesce(i.hr_at_least_s[(h.hr_max * 9 + 9) / 10], 0) AS s90
  WHERE h.hr_max IS NOT NULL AND i.hr_at_least_s IS NOT NULL
) z ON true;
--> statement-breakpoint
-- OFFSET 0: the seconds are sorted by week, and not the arrays that they are counted from.
CREATE OR REPLACE VIEW training.zones_by_week AS
SELECT a.account_id, zones.*
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', day::timestamp)::date AS week, count(*)::int AS activities,
    sum(power_z1_s)::int AS power_z1_s, sum(power_z2_s)::int AS power_z2_s, sum(power_z3_s)::int AS power_z3_s,
    sum(power_z4_s)::int AS power_z4_s, sum(power_z5_s)::int AS power_z5_s, sum(power_z6_s)::int AS power_z6_s,
    sum(power_z7_s)::int AS power_z7_s, sum(hr_z1_s)::int AS hr_z1_s, sum(hr_z2_s)::int AS hr_z2_s,
    sum(hr_z3_s)::int AS hr_z3_s, sum(hr_z4_s)::int AS hr_z4_s, sum(hr_z5_s)::int AS hr_z5_s,
    sum(near_mpa_s)::int AS near_mpa_s, sum(above_ftp_s)::int AS above_ftp_s
  FROM (
    SELECT * FROM training.ride_intensity i WHERE i.account_id = a.account_id AND day IS NOT NULL OFFSET 0
  ) i
  GROUP BY 1
) zones;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.mirror_health AS
SELECT a.account_id, a.name AS account, i.item, i.month, i.count, i.at, i.detail
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT 'needs login' AS item, NULL::date AS month, a.needs_login::int::bigint AS count, NULL::timestamptz AS at,
    a.last_error AS detail
  UNION ALL
  SELECT 'last good poll', NULL, NULL, max(good.finished_at), NULL
  FROM (VALUES ('poll'), ('backfill')) AS way(kind)
  CROSS JOIN LATERAL (
    SELECT r.finished_at FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = way.kind AND r.outcome IN ('done', 'partial')
    ORDER BY r.started_at DESC LIMIT 1
  ) good
  UNION ALL
  SELECT 'last reconcile', NULL, good.listed, good.finished_at, newest.error
  FROM (SELECT) one
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
  SELECT state.item, NULL, coalesce(v.count, 0), CASE WHEN state.waits THEN v.since END, CASE WHEN state.waits THEN v.error END
  FROM (VALUES ('activities mirrored', 'mirrored', false), ('activities wanted', 'wanted', true),
    ('activities awaiting samples', 'awaiting_samples', true), ('activities failed', 'failed', true)
  ) AS state(item, detail_state, waits)
  LEFT JOIN (
    SELECT detail_state, count(*) AS count, min(wanted_at) AS since,
      (array_agg(fetch_error ORDER BY wanted_at DESC) FILTER (WHERE fetch_error IS NOT NULL))[1] AS error
    FROM training.activities WHERE activities.account_id = a.account_id AND absent_since IS NULL GROUP BY 1
  ) v USING (detail_state)
  UNION ALL
  SELECT 'uploads on their way', NULL, count(*), min(u.seen_at),
    (array_agg(u.reason ORDER BY u.seen_at DESC) FILTER (WHERE u.reason IS NOT NULL))[1]
  FROM training.uploads u
  WHERE u.account_id = a.account_id AND u.state IN ('seen', 'sending', 'unconfirmed', 'accepted')
  UNION ALL
  (WITH ridden AS MATERIALIZED (
    SELECT DISTINCT date_trunc('month', started_at_local)::date AS month
    FROM training.activities WHERE activities.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  )
  SELECT 'month without activities', each.month, 0, NULL, NULL
  FROM (
    SELECT (SELECT min(month) FROM ridden) AS first, (SELECT t.day FROM training.today t WHERE t.account_id = a.account_id) AS last
  ) span
  CROSS JOIN LATERAL (SELECT age(span.last::timestamp, span.first::timestamp) AS age) length
  CROSS JOIN LATERAL (
    SELECT (span.first + n * interval '1 month')::date AS month
    FROM generate_series(0, (date_part('year', length.age) * 12 + date_part('month', length.age))::int) AS n
  ) each
  WHERE each.month NOT IN (SELECT month FROM ridden))
  UNION ALL
  SELECT 'last run of ' || pass.resource || ' ' || pass.kind, NULL, run.failed, run.started_at, concat_ws(': ', run.outcome, run.error)
  FROM (
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
) i;
--> statement-breakpoint
-- A pass over thousands of activities goes on for minutes, with pauses when the service is away: an hour without a
-- change ends it. Five activities are more than edits by hand within an hour, and fewer than any history.
CREATE OR REPLACE VIEW training.recalculations AS
SELECT t.account_id, (pass.observed_from AT TIME ZONE 'UTC' + t.utc_offset)::date AS day_observed, pass.activities,
  pass.xss_before, pass.xss_after, pass.xss_change, pass.ftp_before, pass.ftp_after, pass.first_ride, pass.last_ride,
  pass.observed_from, pass.observed_to
FROM training.today t
CROSS JOIN LATERAL (
  WITH revision AS (
    SELECT v.activity_id, v.started_at_local::date AS day, r.observed_at,
      (r.changes #>> '{xss,0}')::float8 AS xss_before, (r.changes #>> '{xss,1}')::float8 AS xss_after,
      (r.changes #>> '{sig_ftp,0}')::float8 AS ftp_before, (r.changes #>> '{sig_ftp,1}')::float8 AS ftp_after
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT observed_at, changes FROM training.activity_revisions WHERE activity_revisions.activity_id = v.activity_id OFFSET 0
    ) r
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND (
      (r.changes #>> '{xss,0}' IS NOT NULL AND r.changes #>> '{xss,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_ftp,0}' IS NOT NULL AND r.changes #>> '{sig_ftp,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_pp,0}' IS NOT NULL AND r.changes #>> '{sig_pp,1}' IS NOT NULL)
      OR (r.changes #>> '{tl_ftp,0}' IS NOT NULL AND r.changes #>> '{tl_ftp,1}' IS NOT NULL))
  ), begun AS (
    SELECT *, observed_at - lag(observed_at) OVER (ORDER BY observed_at) <= interval '1 hour' AS goes_on FROM revision
  ), pass AS (
    SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (ORDER BY observed_at) AS number FROM begun
  ), changed AS (
    SELECT number, activity_id, day, min(observed_at) AS observed_from, max(observed_at) AS observed_to,
      (array_agg(xss_before ORDER BY observed_at) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_before,
      (array_agg(xss_after ORDER BY observed_at DESC) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_after,
      (array_agg(ftp_before ORDER BY observed_at) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_before,
      (array_agg(ftp_after ORDER BY observed_at DESC) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_after
    FROM pass GROUP BY 1, 2, 3
  )
  SELECT count(*)::int AS activities,
    sum(xss_before) AS xss_before, sum(xss_after) AS xss_after, sum(xss_after) - sum(xss_before) AS xss_change,
    avg(ftp_before) AS ftp_before, avg(ftp_after) AS ftp_after,
    min(day) AS first_ride, max(day) AS last_ride, min(observed_from) AS observed_from, max(observed_to) AS observed_to
  FROM changed GROUP BY number HAVING count(*) >= 5
) pass;
