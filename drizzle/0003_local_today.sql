ALTER TABLE training.fit_files ADD COLUMN utc_offset_s integer;
-- The activity message of each file is kept whole.
UPDATE training.fit_files SET utc_offset_s = round(apart / 900) * 900
FROM (
  SELECT f.account_id, f.content_id, (f.fields #>> '{activity,localTimestamp}')::float8 + 631065600
    - extract(epoch FROM (f.fields #>> '{activity,timestamp}')::timestamptz)::float8 AS apart
  FROM training.fit_files f
  WHERE jsonb_typeof(f.fields #> '{activity,localTimestamp}') = 'number' AND jsonb_typeof(f.fields #> '{activity,timestamp}') = 'string'
) told
WHERE fit_files.account_id = told.account_id AND fit_files.content_id = told.content_id
  AND abs(apart - round(apart / 900) * 900) <= 60 AND abs(round(apart / 900) * 900) <= 54000;
COMMENT ON COLUMN training.fit_files.utc_offset_s IS 'Derived: wall clock of the device minus UTC, s, from the times of its activity message (local_timestamp, timestamp); NULL where one is missing, or where they are not apart as time zones are';

-- The body names nothing of schema musette: it runs with the rights of the reader of a view.
CREATE FUNCTION musette.zone_for_queries(zone text, utc_offset interval) RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  text_of CONSTANT text := CASE WHEN utc_offset < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(utc_offset, -utc_offset), 'HH24:MI');
  fixed CONSTANT text := CASE WHEN coalesce(utc_offset, interval '0') = interval '0' THEN 'UTC'
    ELSE format('<%s>%s', text_of, translate(text_of, '+-', '-+')) END;
BEGIN
  IF utc_offset IS NOT NULL AND zone !~ '/' THEN RETURN fixed; END IF;
  PERFORM now() AT TIME ZONE zone;
  RETURN zone;
EXCEPTION
  WHEN invalid_parameter_value THEN RETURN fixed;
END
$$;
COMMENT ON FUNCTION musette.zone_for_queries(text, interval) IS 'A time zone for AT TIME ZONE: the zone itself where it is a name that this Postgres knows, else one that always has the offset (UTC without one). Postgres reads an offset such as +02:00 the other way round, gives some abbreviations another meaning, and raises an error for a name that it does not know.';

CREATE OR REPLACE VIEW training.today AS
SELECT a.account_id, now() AT TIME ZONE clock.timezone - now() AT TIME ZONE 'UTC' AS utc_offset,
  (now() AT TIME ZONE clock.timezone)::date AS day, clock.timezone, clock.timezone_source
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
) clock;
COMMENT ON VIEW training.today IS 'Derived: which day it is for each account: in the time zone of its home (accounts.timezone) where that is set, else in that of its newest activity, else in UTC. The service tells no time zone of an account.';
COMMENT ON COLUMN training.today.utc_offset IS 'Derived: wall clock minus UTC there, now';
COMMENT ON COLUMN training.today.day IS 'Derived: the present day there';
COMMENT ON COLUMN training.today.timezone IS 'Derived: the time zone, for AT TIME ZONE; <+05:45>-05:45 is one that always has this offset';
COMMENT ON COLUMN training.today.timezone_source IS 'Derived: setting, or what told the zone of the newest activity, see activities.timezone_source; unknown where days are UTC';

CREATE OR REPLACE VIEW training.fitness_history AS
SELECT account_id, started_at AS at, started_at_local::date AS day, 'activity' AS source, activity_id,
  sig_ftp AS ftp, sig_atc / 1000 AS hie_kj, sig_pp AS pp, prev_sig_ltp AS ltp
FROM training.activities
WHERE absent_since IS NULL AND started_at IS NOT NULL AND num_nonnulls(sig_ftp, sig_atc, sig_pp, prev_sig_ltp) > 0
UNION ALL
SELECT i.account_id, i.observed_at, (i.observed_at AT TIME ZONE t.timezone)::date, 'training_info', NULL,
  i.ftp, i.hie, i.pp, i.ltp
FROM training.training_info i JOIN training.today t USING (account_id)
WHERE num_nonnulls(i.ftp, i.hie, i.pp, i.ltp) > 0;
COMMENT ON COLUMN training.fitness_history.day IS 'Derived: day of the activity in its own time zone; of training information in that of today';

CREATE OR REPLACE VIEW training.recalculations AS
SELECT t.account_id, (pass.observed_from AT TIME ZONE t.timezone)::date AS day_observed, pass.activities,
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
