-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
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

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON VIEW training.recommended_load IS 'Derived: the training load score that the service recommended for each day, up to the Sunday of this week: the first recommendation that was seen on the day, before the ride of the day lowers it. A day on which musette did not ask, and a day to come, has that of the last day on which it did, see told_on.';
COMMENT ON COLUMN training.recommended_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recommended_load.day IS 'Day where the rider is, see today';
COMMENT ON COLUMN training.recommended_load.low_xss IS 'Recommended training load score, low (target_low of training_info); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.high_xss IS 'Recommended training load score, high (target_high); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.peak_xss IS 'Recommended training load score, peak (target_peak); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.xss IS 'Recommended training load score, total (target_total); unit not told by the service';
COMMENT ON COLUMN training.recommended_load.told_on IS 'Day on which the service told it: the day itself where musette asked on it';
COMMENT ON COLUMN training.recommended_load.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.recommended_load SET (security_invoker=true);
GRANT SELECT ON training.recommended_load TO musette_one_account, musette_reader;
