-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.cluster(OUT system_identifier bigint, OUT timeline integer, OUT database_oid bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  database_oid := (SELECT oid FROM pg_database WHERE datname = current_database());
  -- Some services have these functions and refuse them.
  BEGIN
    system_identifier := (SELECT c.system_identifier FROM pg_control_system() c);
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  BEGIN
    -- At once another one after a promotion, which the control file is not.
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
END
$$;

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.cluster() IS 'What of Postgres tells where this database is; NULL what the server does not tell.';
