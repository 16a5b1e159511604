-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
-- The seasons of an account and the best of each are single reads of the index power_curves_best, see there; sports are the outer
-- step, so that a best of all sports is the largest of a few rows.
CREATE OR REPLACE VIEW training.power_bests AS
SELECT t.account_id, best.span, best.season, best.duration_s, best.watts, best.activity_id, best.day, best.source, t.account, best.sport
FROM training.today t
CROSS JOIN LATERAL (
  WITH RECURSIVE known AS (
    (SELECT c.sport, c.season FROM training.power_curves c
    WHERE c.account_id = t.account_id AND c.season IS NOT NULL ORDER BY c.sport, c.season LIMIT 1)
    UNION ALL
    SELECT next.sport, next.season FROM known k CROSS JOIN LATERAL (
      SELECT c.sport, c.season FROM training.power_curves c
      WHERE c.account_id = t.account_id AND (c.sport, c.season) > (k.sport, k.season) AND c.season IS NOT NULL
      ORDER BY c.sport, c.season LIMIT 1
    ) next
  ), duration AS (
    SELECT unnest('{1,2,3,4,5,6,7,8,9,10,12,15,18,20,25,30,35,40,45,50,60,75,90,105,120,150,180,210,240,270,300,360,420,480,540,600,720,840,
      900,1080,1200,1500,1800,2100,2400,2700,3000,3600,4500,5400,6300,7200,9000,10800,12600,14400,18000,21600,25200,28800,36000,43200}'::int[]) AS duration_s
  ), season_best AS MATERIALIZED (
    SELECT s.sport, s.season, d.duration_s, best.*
    FROM unnest(ARRAY(SELECT sport FROM known), ARRAY(SELECT season FROM known)) AS s (sport, season)
    CROSS JOIN duration d
    CROSS JOIN LATERAL (
      SELECT c.watts, c.activity_id, v.started_at_local::date AS day, c.source
      FROM training.power_curves c JOIN training.activities v USING (activity_id)
      WHERE c.account_id = t.account_id AND c.sport = s.sport AND c.season = s.season AND c.duration_s = d.duration_s
        AND v.absent_since IS NULL
      ORDER BY c.watts DESC, c.started_at_local, c.activity_id LIMIT 1
    ) best
  ), all_time AS (
    SELECT DISTINCT ON (sport, duration_s) * FROM season_best ORDER BY sport, duration_s, watts DESC, season
  ), recent AS (
    SELECT DISTINCT ON (v.sport, c.duration_s)
      v.sport, c.duration_s, c.watts, v.activity_id, v.started_at_local::date AS day, c.source
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT duration_s, watts, source FROM training.power_curves WHERE power_curves.activity_id = v.activity_id OFFSET 0
    ) c
    JOIN duration USING (duration_s)
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at > now() - interval '92 days'
      AND v.started_at_local::date BETWEEN t.day - 89 AND t.day
    ORDER BY v.sport, c.duration_s, c.watts DESC, v.started_at_local, v.activity_id
  )
  SELECT 'all time' AS span, NULL::int AS season, duration_s, watts, activity_id, day, source, sport FROM all_time
  UNION ALL
  SELECT 'season', season, duration_s, watts, activity_id, day, source, sport FROM season_best
  UNION ALL
  SELECT 'last 90 days', NULL, duration_s, watts, activity_id, day, source, sport FROM recent
) best;

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON VIEW training.power_bests IS 'Derived: the best mean power of each sport for about 60 durations, over all time, in each season and in the last 90 days, and which activity holds it (the earliest of equals). A rider of several sports has a row for each of them: ask for one, such as sport = ''cycling'', or for max(watts) over all. From power_curves.';
COMMENT ON COLUMN training.power_bests.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.power_bests.span IS 'all time, season or last 90 days (today and the 89 days before it, see today)';
COMMENT ON COLUMN training.power_bests.season IS 'Calendar year of the season; NULL for the other spans';
COMMENT ON COLUMN training.power_bests.duration_s IS 'Length of the window, s';
COMMENT ON COLUMN training.power_bests.watts IS 'Derived: best mean power over that length, W; recording gaps count as zero watts, see power_curves';
COMMENT ON COLUMN training.power_bests.activity_id IS 'Activity that holds it, see activities';
COMMENT ON COLUMN training.power_bests.day IS 'Day of that activity in its own time zone';
COMMENT ON COLUMN training.power_bests.source IS 'Column of samples that it was computed from, p_raw or power, see power_curves';
COMMENT ON COLUMN training.power_bests.account IS 'Name of the account';
COMMENT ON COLUMN training.power_bests.sport IS 'Derived: kind of sport of that activity, see activities';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.power_bests SET (security_invoker=true);
GRANT SELECT ON training.power_bests TO musette_one_account, musette_reader;
