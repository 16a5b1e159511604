-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.lock_changes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM musette.lock_feed();
  PERFORM musette.follow_database();
  RETURN NULL;
END
$$;

-- Triggers, last changed by 0020_settled_beside_readers
CREATE TRIGGER lock_changes BEFORE INSERT ON training.changes
  FOR EACH STATEMENT
  EXECUTE FUNCTION musette.lock_changes();

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.lock_changes() IS 'Lets one transaction at a time write changes, from here to its commit: a number that was given earlier is never committed later. It runs before the statement takes a number, so that the first number of a new line is none of the one before.';
