-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE OR REPLACE FUNCTION musette.renew_route() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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

-- Triggers, last changed by 0032_routes
CREATE TRIGGER renew_route BEFORE UPDATE ON musette.ride_tracks
  FOR EACH ROW WHEN (old.sport IS DISTINCT FROM new.sport OR old.points IS DISTINCT FROM new.points)
  EXECUTE FUNCTION musette.renew_route();
CREATE TRIGGER renew_routes AFTER DELETE ON musette.ride_tracks
  FOR EACH ROW
  EXECUTE FUNCTION musette.renew_route();

-- Comments, last changed by 0032_routes
COMMENT ON FUNCTION musette.renew_route() IS 'Lets the route of an activity be found again when its track or sport has changed, and those of others when their founder is gone.';
