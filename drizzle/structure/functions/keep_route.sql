-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE OR REPLACE FUNCTION musette.keep_route() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.route_id := coalesce(NEW.route_id, (SELECT nullif(t.route_id, 0) FROM musette.ride_tracks t WHERE t.activity_id = NEW.activity_id));
  RETURN NEW;
END
$$;

-- Triggers, last changed by 0032_routes
CREATE TRIGGER keep_route BEFORE INSERT ON training.ride_measures
  FOR EACH ROW
  EXECUTE FUNCTION musette.keep_route();

-- Comments, last changed by 0032_routes
COMMENT ON FUNCTION musette.keep_route() IS 'Gives measures that are written again the route that the activity has.';
