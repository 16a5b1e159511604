-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0034_totals
CREATE OR REPLACE VIEW training.totals AS
SELECT t.account_id, total.sport, total.span, total.first_day, total.activities, total.days, total.distance, total.moving_s,
  total.elapsed_s, total.total_elevation_gain, total.work_kj, total.xss, t.account
FROM (
  SELECT account_id, account, date_part('month', day) AS month, date_part('day', day) AS day FROM training.today
) t
CROSS JOIN LATERAL (
  SELECT part.sport, each.span, each.first_day, sum(part.activities)::int AS activities, sum(part.days)::int AS days,
    sum(part.distance) AS distance, sum(part.moving_s)::float8 AS moving_s, sum(part.elapsed_s) AS elapsed_s,
    sum(part.total_elevation_gain) AS total_elevation_gain, sum(part.work_kj) AS work_kj, sum(part.xss) AS xss
  FROM (
    -- Months first, the present one in two parts: a few rows for all spans.
    SELECT v.sport, training.month_of(ride.day) AS month, (date_part('month', ride.day), date_part('day', ride.day)) <= (t.month, t.day) AS to_date,
      count(*) AS activities, count(DISTINCT ride.day) AS days, sum(v.distance) AS distance, sum(m.moving_s) AS moving_s,
      sum(v.elapsed_s) AS elapsed_s, sum(v.total_elevation_gain) AS total_elevation_gain, sum(m.work_kj) AS work_kj, sum(v.xss) AS xss
    FROM training.activities v
    CROSS JOIN LATERAL (SELECT v.started_at_local::date AS day) ride
    LEFT JOIN LATERAL (SELECT moving_s, work_kj FROM training.ride_measures WHERE ride_measures.activity_id = v.activity_id OFFSET 0) m ON true
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND isfinite(v.started_at_local)
    GROUP BY 1, 2, 3
  ) part
  CROSS JOIN LATERAL (SELECT make_date(training.season_of(part.month), 1, 1) AS first_day) season
  CROSS JOIN LATERAL (VALUES
    ('month', part.month), ('season', season.first_day), ('season to date', CASE WHEN part.to_date THEN season.first_day END)
  ) each (span, first_day)
  WHERE each.first_day IS NOT NULL
  GROUP BY part.sport, each.span, each.first_day
) total;

-- Comments, last changed by 0034_totals
COMMENT ON VIEW training.totals IS 'Sums of each sport over each month, each season (calendar year) and each season up to the present day of the year; a span without activities has no row. A sum is NULL when no activity of it has the number, and leaves out those that do not.';
COMMENT ON COLUMN training.totals.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.totals.sport IS 'Derived: kind of sport, see activities';
COMMENT ON COLUMN training.totals.span IS 'month, season, or season to date: from January 1 to the month and day of today, so that seasons compare';
COMMENT ON COLUMN training.totals.first_day IS 'First day of the month or season, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.totals.activities IS 'Number of activities';
COMMENT ON COLUMN training.totals.days IS 'Number of days with an activity';
COMMENT ON COLUMN training.totals.distance IS 'Distance as sent, km, summed';
COMMENT ON COLUMN training.totals.moving_s IS 'Derived: seconds in motion, see moving_s of ride_measures, summed';
COMMENT ON COLUMN training.totals.elapsed_s IS 'Derived: seconds from the first sample to the last of each activity, breaks included, summed';
COMMENT ON COLUMN training.totals.total_elevation_gain IS 'Climbed height, summed; unit not told by the service (read as m)';
COMMENT ON COLUMN training.totals.work_kj IS 'Derived: work, kJ, see work_kj of ride_measures, summed';
COMMENT ON COLUMN training.totals.xss IS 'Training load score, total, summed; unit not told by the service';
COMMENT ON COLUMN training.totals.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.totals SET (security_invoker=true);
GRANT SELECT ON training.totals TO musette_one_account, musette_reader;
