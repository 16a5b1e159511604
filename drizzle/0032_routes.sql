-- Rides over the same ground. The tracks of rides that are here come from their samples, and then their routes, in the background: when the
-- daemon starts, by migrate, sync and rebuild.
CREATE TABLE musette.ride_tracks (
  activity_id integer PRIMARY KEY,
  account_id integer NOT NULL,
  sport text NOT NULL,
  length_m integer NOT NULL,
  points bytea NOT NULL,
  outline bytea NOT NULL,
  route_id integer,
  CONSTRAINT ride_tracks_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE,
  CONSTRAINT ride_tracks_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
--> statement-breakpoint
CREATE INDEX ride_tracks_length ON musette.ride_tracks (account_id, sport, length_m);
--> statement-breakpoint
CREATE INDEX ride_tracks_route ON musette.ride_tracks (route_id, activity_id);
--> statement-breakpoint
COMMENT ON TABLE musette.ride_tracks IS 'Derived: the way of each activity that has samples, by which it is drawn on the map, and its route is found, see route_id of ride_measures.';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.activity_id IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.account_id IS 'Account of the activity, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.sport IS 'Derived: kind of sport of the activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.length_m IS 'Derived: 50 m for each point; 0 without positions';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.points IS 'Derived: a point every 50 m along the positions of the main run, latitude and longitude in turns, millionths of a degree as little-endian int4';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.outline IS 'Derived: the 36 of these points, or fewer, that say most of the shape of the way, in the same form';
--> statement-breakpoint
COMMENT ON COLUMN musette.ride_tracks.route_id IS 'Derived: route of the activity, see ride_measures, which follows; 0 without one, NULL until it is found, at first and after a change';
--> statement-breakpoint
ALTER TABLE training.ride_measures ADD COLUMN route_id integer;
--> statement-breakpoint
COMMENT ON COLUMN training.ride_measures.route_id IS 'Derived: route of the activity, see routes: the activity_id of its founder, the ride of the route with the lowest activity_id, which may be absent. Two activities of one account and sport are alike when each has at least 90 % of its points, one every 50 m, within 60 m of a point of the other in the same direction, wherever they begin; their lengths differ by a sixteenth at most, which tells laps apart up to 15, and each side of the box around them by a tenth of the length. An activity joins the founder with a lower activity_id that it is alike and has the largest share of points in common with, of equal ones the lowest; without one it founds a route. So a new activity, which has a higher activity_id, changes no route of those that are here, and the order in which samples come does not matter. When a founder is deleted or its track changes, the rides of its route are compared again. NULL below 1 km of positions, and until the route is found, seconds after the samples are written';
--> statement-breakpoint
CREATE FUNCTION musette.renew_route() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE musette.ride_tracks SET route_id = NULL WHERE route_id = OLD.activity_id;
    RETURN NULL;
  END IF;
  -- Rides of which it is the founder are left to begin_route(): a writer of several activities must not wait for the rows of others.
  NEW.route_id := NULL;
  RETURN NEW;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.renew_route() IS 'Lets the route of an activity be found again when its track or sport has changed, and those of others when their founder is gone.';
--> statement-breakpoint
CREATE TRIGGER renew_route BEFORE UPDATE ON musette.ride_tracks FOR EACH ROW
  WHEN ((OLD.sport, OLD.points) IS DISTINCT FROM (NEW.sport, NEW.points)) EXECUTE FUNCTION musette.renew_route();
--> statement-breakpoint
CREATE TRIGGER renew_routes AFTER DELETE ON musette.ride_tracks FOR EACH ROW EXECUTE FUNCTION musette.renew_route();
--> statement-breakpoint
CREATE FUNCTION musette.keep_route() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.route_id := coalesce(NEW.route_id, (SELECT nullif(t.route_id, 0) FROM musette.ride_tracks t WHERE t.activity_id = NEW.activity_id));
  RETURN NEW;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.keep_route() IS 'Gives measures that are written again the route that the activity has.';
--> statement-breakpoint
CREATE TRIGGER keep_route BEFORE INSERT ON training.ride_measures FOR EACH ROW EXECUTE FUNCTION musette.keep_route();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION musette.move_derived() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE training.activity_intensity SET account_id = NEW.account_id, day = NEW.started_at_local::date,
    month = coalesce(date_trunc('month', NEW.started_at_local)::date, '-infinity'), absent = NEW.absent_since IS NOT NULL
  WHERE activity_id = NEW.activity_id;
  IF (OLD.started_at_local, OLD.sport) IS DISTINCT FROM (NEW.started_at_local, NEW.sport) THEN
    UPDATE training.power_curves SET account_id = NEW.account_id, season = date_part('year', NEW.started_at_local),
      started_at_local = NEW.started_at_local, sport = NEW.sport
    WHERE activity_id = NEW.activity_id;
  END IF;
  IF OLD.sport IS DISTINCT FROM NEW.sport THEN
    UPDATE musette.ride_tracks SET sport = NEW.sport WHERE activity_id = NEW.activity_id;
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.move_derived() IS 'Keeps power_curves, activity_intensity and ride_tracks in step with an activity whose start or sport has changed, or that the service lists no more or again.';
--> statement-breakpoint
CREATE FUNCTION musette.begin_route() RETURNS TABLE (id integer, points bytea) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  track musette.ride_tracks;
  lock text;
BEGIN
  LOOP
    SELECT * INTO track FROM musette.ride_tracks t WHERE t.route_id IS NULL ORDER BY t.activity_id LIMIT 1;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    lock := 'routes ' || track.account_id;
    INSERT INTO musette.locks (name) VALUES (lock) ON CONFLICT DO NOTHING;
    PERFORM FROM musette.locks WHERE name = lock FOR UPDATE;
    -- Another process may have found it until here.
    SELECT * INTO track FROM musette.ride_tracks t WHERE t.activity_id = track.activity_id AND t.route_id IS NULL FOR UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  UPDATE musette.ride_tracks t SET route_id = NULL WHERE t.route_id = track.activity_id;
  RETURN QUERY SELECT track.activity_id, track.points;
  RETURN QUERY
    SELECT o.activity_id, o.points
    FROM musette.ride_tracks o JOIN training.activities a ON a.activity_id = track.activity_id
    JOIN training.activities b ON b.activity_id = o.activity_id
    WHERE o.account_id = track.account_id AND o.sport = track.sport AND track.length_m >= 1000
      AND (o.activity_id < track.activity_id AND o.route_id = o.activity_id OR o.activity_id > track.activity_id AND o.route_id > 0)
      -- The first line is for the index; the others are the same from both sides.
      AND o.length_m BETWEEN track.length_m * 15 / 16 AND track.length_m * 16 / 15 + 1
      AND 16 * abs(o.length_m - track.length_m) <= greatest(o.length_m, track.length_m)
      AND greatest(abs(a.south - b.south), abs(a.north - b.north)) * 1113200 <= greatest(o.length_m, track.length_m)
      AND greatest(abs(a.west - b.west), abs(a.east - b.east)) * cosd(a.south / 2 + b.south / 2) * 1113200
        <= greatest(o.length_m, track.length_m);
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.begin_route() IS 'Takes the next activity whose route is to be found, and frees the rides of which it is the founder. Finds its track first, and then those to compare it with: of founders with a lower activity_id, and of rides with a higher one that have a route. One transaction at a time does this for an account.';
--> statement-breakpoint
CREATE FUNCTION musette.record_route(activity integer, others integer[], shares double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  founder CONSTANT integer := (SELECT o.id FROM unnest(others, shares) AS o (id, share) WHERE o.id < activity AND o.share > 0
    ORDER BY o.share DESC, o.id LIMIT 1);
  route integer;
BEGIN
  -- What a crash takes back is found again.
  PERFORM set_config('synchronous_commit', 'off', true);
  IF founder IS NULL THEN
    -- Later ones may have more in common with it.
    UPDATE musette.ride_tracks SET route_id = NULL WHERE activity_id IN (SELECT o.id FROM unnest(others, shares) AS o (id, share) WHERE o.share > 0);
  END IF;
  UPDATE musette.ride_tracks SET route_id = CASE WHEN length_m < 1000 THEN 0 ELSE coalesce(founder, activity) END
  WHERE activity_id = activity RETURNING nullif(route_id, 0) INTO route;
  UPDATE training.ride_measures SET route_id = route WHERE activity_id = activity AND route_id IS DISTINCT FROM route;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.record_route(integer, integer[], double precision[]) IS 'Records the route of an activity, from those that are alike and the shares of points that they have in common.';
--> statement-breakpoint
CREATE VIEW training.routes AS
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
--> statement-breakpoint
COMMENT ON VIEW training.routes IS 'Derived: the routes of an account with the activities that were ridden on them, also of one activity: the same ground in the same direction, with as many laps. route_id of ride_measures tells which activities those are, and how they are found.';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.account_id IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.route_id IS 'Route, see route_id of ride_measures';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.sport IS 'Kind of sport, see activities; each route has one';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.name IS 'Name of the newest activity on it';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.rides IS 'Number of activities on it';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.first_day IS 'Day of the first one, by its own clock';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.last_day IS 'Day of the last one, by its own clock';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.distance IS 'Their mean distance, km';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.ascent_m IS 'Their mean climbed height, m, see ascent_m of ride_measures; NULL where none is known';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.mean_s IS 'Their mean moving_s, s, see ride_measures; NULL where none is known';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.best_s IS 'The lowest moving_s, s';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.best_activity_id IS 'The activity with it, of equal ones the first in activity_id';
--> statement-breakpoint
COMMENT ON COLUMN training.routes.account IS 'Name of the account';
