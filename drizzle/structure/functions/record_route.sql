-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE OR REPLACE FUNCTION musette.record_route(activity integer, others integer[], shares double precision[]) RETURNS void
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

-- Comments, last changed by 0032_routes
COMMENT ON FUNCTION musette.record_route(integer,integer[],double precision[]) IS 'Records the route of an activity, from those that are alike and the shares of points that they have in common.';
