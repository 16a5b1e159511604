-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE OR REPLACE VIEW training.routes AS
SELECT c.account_id, r.route_id, r.sport, r.name, r.rides, r.first_day, r.last_day, r.distance, r.ascent_m, r.mean_s, r.best_s,
  r.best_activity_id, c.name AS account
FROM training.accounts c
CROSS JOIN LATERAL (
  SELECT m.route_id, min(v.sport) AS sport, (array_agg(v.name ORDER BY v.started_at DESC NULLS LAST, v.activity_id DESC))[1] AS name,
    count(*)::int AS rides, min(v.started_at_local)::date AS first_day, max(v.started_at_local)::date AS last_day,
    avg(v.distance) AS distance, avg(m.ascent_m) AS ascent_m, avg(m.moving_s)::float8 AS mean_s, min(m.moving_s) AS best_s,
    (array_agg(v.activity_id ORDER BY m.moving_s, v.activity_id) FILTER (WHERE m.moving_s IS NOT NULL))[1] AS best_activity_id
  FROM training.activities v JOIN training.ride_measures m USING (activity_id)
  WHERE v.account_id = c.account_id AND v.absent_since IS NULL AND m.route_id IS NOT NULL
  GROUP BY m.route_id
) r;

-- Comments, last changed by 0032_routes
COMMENT ON VIEW training.routes IS 'Derived: the routes of an account with the activities that were ridden on them, also of one activity: the same ground in the same direction, with as many laps. route_id of ride_measures tells which activities those are, and how they are found.';
COMMENT ON COLUMN training.routes.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.routes.route_id IS 'Route, see route_id of ride_measures';
COMMENT ON COLUMN training.routes.sport IS 'Kind of sport, see activities; each route has one';
COMMENT ON COLUMN training.routes.name IS 'Name of the newest activity on it';
COMMENT ON COLUMN training.routes.rides IS 'Number of activities on it';
COMMENT ON COLUMN training.routes.first_day IS 'Day of the first one, by its own clock';
COMMENT ON COLUMN training.routes.last_day IS 'Day of the last one, by its own clock';
COMMENT ON COLUMN training.routes.distance IS 'Their mean distance, km';
COMMENT ON COLUMN training.routes.ascent_m IS 'Their mean climbed height, m, see ascent_m of ride_measures; NULL where none is known';
COMMENT ON COLUMN training.routes.mean_s IS 'Their mean moving_s, s, see ride_measures; NULL where none is known';
COMMENT ON COLUMN training.routes.best_s IS 'The lowest moving_s, s';
COMMENT ON COLUMN training.routes.best_activity_id IS 'The activity with it, of equal ones the first in activity_id';
COMMENT ON COLUMN training.routes.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.routes SET (security_invoker=true);
GRANT SELECT ON training.routes TO musette_one_account, musette_reader;
