-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0034_totals
CREATE OR REPLACE VIEW training.streaks AS
SELECT t.account_id, run.sport, CASE run.days WHEN 1 THEN 'day' ELSE 'week' END AS unit, run.length, run.first_day, run.last_day,
  run.last_day >= CASE run.days WHEN 1 THEN t.day ELSE training.week_of(t.day) END - 1 AS is_current, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT sport, days, (max(day) - min(day)) / days + 1 AS length, min(day) AS first_day, max(day) + days - 1 AS last_day
  FROM (
    SELECT v.sport, u.days, u.day, u.day - u.days * dense_rank() OVER (PARTITION BY v.sport, u.days ORDER BY u.day)::int AS start
    FROM training.activities v
    CROSS JOIN LATERAL (VALUES (1, v.started_at_local::date), (7, training.week_of(v.started_at_local::date))) u (days, day)
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND isfinite(v.started_at_local)
  ) numbered
  GROUP BY sport, days, start
) run;

-- Comments, last changed by 0034_totals
COMMENT ON VIEW training.streaks IS 'Derived: days in a row, and weeks in a row, with an activity of a sport. One row a streak, those of one day or week included.';
COMMENT ON COLUMN training.streaks.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.streaks.sport IS 'Derived: kind of sport, see activities';
COMMENT ON COLUMN training.streaks.unit IS 'What the streak counts: day or week';
COMMENT ON COLUMN training.streaks.length IS 'Number of days or weeks in a row';
COMMENT ON COLUMN training.streaks.first_day IS 'First day, or Monday of the first week, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.streaks.last_day IS 'Last day, or Sunday of the last week';
COMMENT ON COLUMN training.streaks.is_current IS 'Whether an activity today, or one this week, lengthens it or already has: it reaches at least to yesterday or last week';
COMMENT ON COLUMN training.streaks.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.streaks SET (security_invoker=true);
GRANT SELECT ON training.streaks TO musette_one_account, musette_reader;
