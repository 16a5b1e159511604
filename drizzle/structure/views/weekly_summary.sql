-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
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

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON VIEW training.weekly_summary IS 'Sums of each week and type of activity; weeks without activities have no row. A sum is NULL when no activity of it has the number.';
COMMENT ON COLUMN training.weekly_summary.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.weekly_summary.week IS 'Monday of the week, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.weekly_summary.activity_type IS 'Type in the words of the service, such as Cycling';
COMMENT ON COLUMN training.weekly_summary.activities IS 'Number of activities';
COMMENT ON COLUMN training.weekly_summary.elapsed_s IS 'Derived: seconds from the first sample to the last of each activity, see elapsed_s of activities, summed; activities without samples are missing in it';
COMMENT ON COLUMN training.weekly_summary.distance IS 'Distance as sent, km, summed';
COMMENT ON COLUMN training.weekly_summary.total_calories IS 'Energy, summed; unit not told by the service (read as kcal)';
COMMENT ON COLUMN training.weekly_summary.total_elevation_gain IS 'Climbed height, summed; unit not told by the service (read as m)';
COMMENT ON COLUMN training.weekly_summary.low_xss IS 'Training load score, low part (xlss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.high_xss IS 'Training load score, high part (xhss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.peak_xss IS 'Training load score, peak part (xpss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.xss IS 'Training load score, total, summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.account IS 'Name of the account';
COMMENT ON COLUMN training.weekly_summary.sport IS 'Derived: kind of sport of the activity_type, see activities';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.weekly_summary SET (security_invoker=true);
GRANT SELECT ON training.weekly_summary TO musette_one_account, musette_reader;
