CREATE VIEW training.totals AS
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
--> statement-breakpoint
CREATE VIEW training.streaks AS
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
COMMENT ON VIEW training.streaks IS 'Derived: days in a row, and weeks in a row, with an activity of a sport. One row a streak, those of one day or week included.';
COMMENT ON COLUMN training.streaks.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.streaks.sport IS 'Derived: kind of sport, see activities';
COMMENT ON COLUMN training.streaks.unit IS 'What the streak counts: day or week';
COMMENT ON COLUMN training.streaks.length IS 'Number of days or weeks in a row';
COMMENT ON COLUMN training.streaks.first_day IS 'First day, or Monday of the first week, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.streaks.last_day IS 'Last day, or Sunday of the last week';
COMMENT ON COLUMN training.streaks.is_current IS 'Whether an activity today, or one this week, lengthens it or already has: it reaches at least to yesterday or last week';
COMMENT ON COLUMN training.streaks.account IS 'Name of the account';
