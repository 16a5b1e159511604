-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0003_local_today
-- The body names nothing of schema musette: it runs with the rights of the reader of a view.
CREATE OR REPLACE FUNCTION musette.zone_for_queries(zone text, utc_offset interval) RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  text_of CONSTANT text := CASE WHEN utc_offset < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(utc_offset, -utc_offset), 'HH24:MI');
  fixed CONSTANT text := CASE WHEN coalesce(utc_offset, interval '0') = interval '0' THEN 'UTC'
    ELSE format('<%s>%s', text_of, translate(text_of, '+-', '-+')) END;
BEGIN
  IF utc_offset IS NOT NULL AND zone !~ '/' THEN RETURN fixed; END IF;
  PERFORM now() AT TIME ZONE zone;
  RETURN zone;
EXCEPTION
  WHEN invalid_parameter_value THEN RETURN fixed;
END
$$;

-- Comments, last changed by 0003_local_today
COMMENT ON FUNCTION musette.zone_for_queries(text,interval) IS 'A time zone for AT TIME ZONE: the zone itself where it is a name that this Postgres knows, else one that always has the offset (UTC without one). Postgres reads an offset such as +02:00 the other way round, gives some abbreviations another meaning, and raises an error for a name that it does not know.';
