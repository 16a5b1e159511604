-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE VIEW training.planned_load AS
SELECT t.account_id, p.day, p.low, p.high, p.peak, p.source, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT t.day + n AS day, CASE WHEN c.is_workout THEN w.low ELSE r.low_xss END AS low,
    CASE WHEN c.is_workout THEN w.high ELSE r.high_xss END AS high, CASE WHEN c.is_workout THEN w.peak ELSE r.peak_xss END AS peak,
    CASE WHEN c.is_workout THEN 'workout' ELSE 'recommended' END AS source
  FROM (
    SELECT r.low_xss, r.high_xss, r.peak_xss FROM training.recommended_load r WHERE r.account_id = t.account_id AND r.day = t.day OFFSET 0
  ) r
  LEFT JOIN LATERAL (
    SELECT musette.number(w.raw ->> 'xlss') AS low, musette.number(w.raw ->> 'xhss') AS high, musette.number(w.raw ->> 'xpss') AS peak
    FROM (SELECT i.wotd_workout_id FROM training.training_info i WHERE i.account_id = t.account_id ORDER BY i.observed_at DESC LIMIT 1) i
    CROSS JOIN LATERAL (
      (SELECT o.raw FROM training.workouts o WHERE o.account_id = t.account_id AND o.path = i.wotd_workout_id AND o.absent_since IS NULL)
      UNION ALL
      (SELECT o.raw FROM training.workouts o WHERE o.account_id IS NULL AND o.path = i.wotd_workout_id AND o.absent_since IS NULL
        AND o.base_url = (SELECT a.base_url FROM training.accounts a WHERE a.account_id = t.account_id))
      LIMIT 1
    ) w
  ) w ON true
  CROSS JOIN generate_series(0, 27) AS n
  CROSS JOIN LATERAL (SELECT n = 0 AND num_nulls(w.low, w.high, w.peak) = 0 AS is_workout OFFSET 0) c
  WHERE n > 0 OR NOT EXISTS (
    SELECT FROM training.activities v WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at_local >= t.day
      AND v.started_at_local < t.day + 1 AND v.started_at >= training.start_of_day(t.day - 1, 'UTC')
  )
  OFFSET 0
) p;

-- Comments, last changed by 0033_form_by_day
COMMENT ON VIEW training.planned_load IS 'Derived: what four weeks bring when the rider follows the service: today, while there is no activity, its workout of the day, where the workout list has the scores of that, else what it recommends for today; and on each later day what it recommends for today, because it tells nothing of later days. A plan for form_on().';
COMMENT ON COLUMN training.planned_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.planned_load.day IS 'Day, from today on';
COMMENT ON COLUMN training.planned_load.low IS 'Low training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.high IS 'High training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.peak IS 'Peak training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.source IS 'workout (the workout of the day) or recommended (see recommended_load)';
COMMENT ON COLUMN training.planned_load.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.planned_load SET (security_invoker=true);
GRANT SELECT ON training.planned_load TO musette_one_account, musette_reader;
