-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE OR REPLACE FUNCTION musette.begin_route() RETURNS TABLE (id integer, points bytea) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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

-- Comments, last changed by 0032_routes
COMMENT ON FUNCTION musette.begin_route() IS 'Takes the next activity whose route is to be found, and frees the rides of which it is the founder. Finds its track first, and then those to compare it with: of founders with a lower activity_id, and of rides with a higher one that have a route. One transaction at a time does this for an account.';
