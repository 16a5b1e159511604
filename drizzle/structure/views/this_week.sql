-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.this_week AS
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

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON VIEW training.this_week IS 'Derived: the seven days of the present week, see today, with what was done and what the service recommended.';
COMMENT ON COLUMN training.this_week.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.this_week.day IS 'Day, from Monday to Sunday';
COMMENT ON COLUMN training.this_week.activities IS 'Number of activities that started on that day of their own clock';
COMMENT ON COLUMN training.this_week.elapsed_s IS 'Their elapsed_s, summed, s; 0 where none is known';
COMMENT ON COLUMN training.this_week.distance IS 'Their distance, summed, km; 0 where none is known';
COMMENT ON COLUMN training.this_week.xss IS 'Their training load score, summed; 0 where none is known; unit not told by the service';
COMMENT ON COLUMN training.this_week.recommended_xss IS 'Recommended training load score of that day, see recommended_load; NULL before the first training info; unit not told by the service';
COMMENT ON COLUMN training.this_week.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.this_week SET (security_invoker=true);
GRANT SELECT ON training.this_week TO musette_one_account, musette_reader;
