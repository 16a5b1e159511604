-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.moved() RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT CASE WHEN c.system_identifier <> d.system_identifier THEN 'server' WHEN c.timeline <> d.timeline THEN 'timeline'
      WHEN c.database_oid <> d.database_oid THEN 'copy'
      WHEN d.database_oid IS NULL OR d.timeline IS NULL AND c.timeline IS NOT NULL
        OR d.system_identifier IS NULL AND c.system_identifier IS NOT NULL THEN 'unknown' END
    FROM training.database d, musette.cluster() c);
END
$$;

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.moved() IS 'Why the line ends, see the change restored; unknown when the line does not say yet where it is; NULL when it goes on.';
