-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.set_updated_at()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END
$function$;

-- Triggers, last changed by 0000_schema
CREATE TRIGGER set_updated_at BEFORE UPDATE ON training.activities
  FOR EACH ROW WHEN (musette.content(old.*) IS DISTINCT FROM musette.content(new.*))
  EXECUTE FUNCTION musette.set_updated_at();
CREATE TRIGGER set_updated_at BEFORE UPDATE ON training.workouts
  FOR EACH ROW WHEN (musette.content(old.*) IS DISTINCT FROM musette.content(new.*))
  EXECUTE FUNCTION musette.set_updated_at();

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.set_updated_at() IS 'Sets updated_at of a row whose content changes.';
