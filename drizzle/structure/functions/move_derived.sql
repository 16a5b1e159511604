-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
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

-- Triggers, last changed by 0019_main_runs_and_sports
CREATE TRIGGER move_derived AFTER UPDATE OF started_at_local, absent_since, activity_type, sport ON training.activities
  FOR EACH ROW WHEN (old.started_at_local IS DISTINCT FROM new.started_at_local OR old.sport IS DISTINCT FROM new.sport OR (old.absent_since IS NULL) <> (new.absent_since IS NULL))
  EXECUTE FUNCTION musette.move_derived();

-- Comments, last changed by 0032_routes
COMMENT ON FUNCTION musette.move_derived() IS 'Keeps power_curves, activity_intensity and ride_tracks in step with an activity whose start or sport has changed, or that the service lists no more or again.';
