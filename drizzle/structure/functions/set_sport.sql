-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE FUNCTION musette.set_sport() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.sport := training.sport_of(NEW.activity_type);
  RETURN NEW;
END
$$;

-- Triggers, last changed by 0019_main_runs_and_sports
CREATE TRIGGER set_sport BEFORE INSERT OR UPDATE OF activity_type, sport ON training.activities
  FOR EACH ROW
  EXECUTE FUNCTION musette.set_sport();

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON FUNCTION musette.set_sport() IS 'Derives the kind of sport of an activity from its type.';
