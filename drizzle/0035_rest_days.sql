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
--> statement-breakpoint
COMMENT ON VIEW training.daily_load IS 'The training load of every day from the first activity to today, days without activities as 0; of those before 1970 and after today only the ones with an activity, as of a device with a wrong clock. Sums of what the service said; a day whose activities all lack a number has NULL.';
--> statement-breakpoint
DO $$
BEGIN
  EXECUTE format($view$CREATE OR REPLACE VIEW training.mirror_health AS SELECT * FROM (%s) i WHERE month IS NULL OR month >= '1970-01-01'$view$,
    rtrim(pg_get_viewdef('training.mirror_health'), '; '));
END
$$;
--> statement-breakpoint
COMMENT ON COLUMN training.mirror_health.month IS 'First day of the month, from 1970 on, for months without activities';
