-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.follow_database() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cause text := musette.moved();
BEGIN
  IF cause IS NULL THEN
    RETURN;
  END IF;
  -- Another transaction may have begun the line until here.
  PERFORM musette.lock_feed();
  cause := musette.moved();
  IF cause = 'unknown' THEN
    UPDATE training.database d SET system_identifier = coalesce(c.system_identifier, d.system_identifier),
      timeline = coalesce(c.timeline, d.timeline), database_oid = c.database_oid
    FROM musette.cluster() c;
  ELSIF cause IS NOT NULL THEN
    PERFORM musette.begin_line(cause);
  END IF;
END
$$;

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.follow_database() IS 'Begins a new line when the database is a copy, or goes on from an earlier moment or on another server, as far as Postgres tells.';
