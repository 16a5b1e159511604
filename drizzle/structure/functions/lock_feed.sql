-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.lock_feed() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO musette.locks (name) VALUES ('changes') ON CONFLICT DO NOTHING;
  PERFORM FROM musette.locks WHERE name = 'changes' FOR UPDATE;
END
$$;

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.lock_feed() IS 'Waits until no other transaction writes changes, and keeps others from it to the end of this one.';
