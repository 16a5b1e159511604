-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE VIEW training.recalculations AS
SELECT t.account_id, training.local_day(pass.observed_from, t.timezone) AS day_observed, pass.activities,
  pass.xss_before, pass.xss_after, pass.xss_change, pass.ftp_before, pass.ftp_after, pass.first_ride, pass.last_ride,
  pass.observed_from, pass.observed_to, t.account, pass.first_activity_id,
  (SELECT count(*) FROM training.activities v WHERE v.account_id = t.account_id AND v.absent_since IS NULL
    AND v.started_at BETWEEN pass.first_at AND pass.last_at)::int - pass.activities AS unchanged
FROM training.today t
CROSS JOIN LATERAL (
  WITH revision AS (
    SELECT v.activity_id, v.started_at, v.started_at_local::date AS day, r.observed_at,
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
    SELECT number, activity_id, started_at, day, min(observed_at) AS observed_from, max(observed_at) AS observed_to,
      (array_agg(xss_before ORDER BY observed_at) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_before,
      (array_agg(xss_after ORDER BY observed_at DESC) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_after,
      (array_agg(ftp_before ORDER BY observed_at) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_before,
      (array_agg(ftp_after ORDER BY observed_at DESC) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_after
    FROM pass GROUP BY 1, 2, 3, 4
  )
  SELECT count(*)::int AS activities,
    sum(xss_before) AS xss_before, sum(xss_after) AS xss_after, sum(xss_after) - sum(xss_before) AS xss_change,
    avg(ftp_before) AS ftp_before, avg(ftp_after) AS ftp_after,
    min(day) AS first_ride, max(day) AS last_ride, min(observed_from) AS observed_from, max(observed_to) AS observed_to,
    min(started_at) AS first_at, max(started_at) AS last_at, (array_agg(activity_id ORDER BY started_at, activity_id))[1] AS first_activity_id
  FROM changed GROUP BY number HAVING count(*) >= 5
) pass;

-- Comments, last changed by 0033_form_by_day
COMMENT ON VIEW training.recalculations IS 'Derived: when the service changed the scores of its history. A row is five or more activities whose load, signature or status had a number before and has another, with less than an hour from one change seen to the next.';
COMMENT ON COLUMN training.recalculations.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recalculations.day_observed IS 'Derived: day of observed_from, see today';
COMMENT ON COLUMN training.recalculations.activities IS 'Number of activities that changed';
COMMENT ON COLUMN training.recalculations.xss_before IS 'Derived: sum of the old xss of the activities whose xss changed; unit not told by the service; NULL when none did';
COMMENT ON COLUMN training.recalculations.xss_after IS 'Derived: sum of the new xss of the same activities; unit not told by the service';
COMMENT ON COLUMN training.recalculations.xss_change IS 'Derived: xss_after - xss_before; unit not told by the service';
COMMENT ON COLUMN training.recalculations.ftp_before IS 'Derived: mean of the old sig_ftp of the activities whose sig_ftp changed, W; NULL when none did';
COMMENT ON COLUMN training.recalculations.ftp_after IS 'Derived: mean of the new sig_ftp of the same activities, W';
COMMENT ON COLUMN training.recalculations.first_ride IS 'Day of the first activity that changed, in its own time zone';
COMMENT ON COLUMN training.recalculations.last_ride IS 'Day of the last activity that changed, in its own time zone';
COMMENT ON COLUMN training.recalculations.observed_from IS 'When the first of the changes was seen here';
COMMENT ON COLUMN training.recalculations.observed_to IS 'When the last of the changes was seen here';
COMMENT ON COLUMN training.recalculations.account IS 'Name of the account';
COMMENT ON COLUMN training.recalculations.first_activity_id IS 'Activity that is the first that changed, see activities: when a rider saves one activity, the service locks it and changes all later ones up to the next locked one';
COMMENT ON COLUMN training.recalculations.unchanged IS 'Derived: number of activities from the first to the last that changed which did not change themselves; 0 for one whole stretch';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.recalculations SET (security_invoker=true);
GRANT SELECT ON training.recalculations TO musette_one_account, musette_reader;
