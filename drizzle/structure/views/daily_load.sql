-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0035_rest_days
-- Days and months without an activity are counted from 1970 on and up to today: one activity with a wrong clock gave each rider 740,000 of them.
CREATE OR REPLACE VIEW training.daily_load AS
SELECT t.account_id, load.*, t.account
FROM training.today t
CROSS JOIN LATERAL (
  WITH ride AS NOT MATERIALIZED (
    SELECT activity_id, started_at_local::date AS day, xlss, xhss, xpss, xss
    FROM training.activities
    WHERE activities.account_id = t.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  ), entry AS (
    SELECT * FROM ride
    UNION ALL
    SELECT NULL, span.first + generate_series(0, t.day - span.first), NULL, NULL, NULL, NULL
    FROM (SELECT greatest(min(day), '1970-01-01') AS first, count(*) AS rides FROM ride) span WHERE span.rides > 0
  )
  SELECT day, count(activity_id)::int AS activities,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xlss) END AS low_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xhss) END AS high_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xpss) END AS peak_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xss) END AS xss,
    (count(activity_id) - count(xss))::int AS without_xss
  FROM entry GROUP BY day
) load;

-- Comments, last changed by 0035_rest_days
COMMENT ON VIEW training.daily_load IS 'The training load of every day from the first activity to today, days without activities as 0; of those before 1970 and after today only the ones with an activity, as of a device with a wrong clock. Sums of what the service said; a day whose activities all lack a number has NULL.';
COMMENT ON COLUMN training.daily_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.daily_load.day IS 'Day on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.daily_load.activities IS 'Number of activities that started on that day';
COMMENT ON COLUMN training.daily_load.low_xss IS 'Training load score, low part (xlss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.high_xss IS 'Training load score, high part (xhss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.peak_xss IS 'Training load score, peak part (xpss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.xss IS 'Training load score, total, summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.without_xss IS 'Number of activities of that day for which the service told no xss; they are missing in the sums';
COMMENT ON COLUMN training.daily_load.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.daily_load SET (security_invoker=true);
GRANT SELECT ON training.daily_load TO musette_one_account, musette_reader;
