-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION musette.whole(value real, lowest integer, highest integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN round(value::double precision) BETWEEN lowest AND highest THEN round(value::double precision)::integer::text END;

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.whole(real,integer,integer) IS 'A number as a whole one, where a schema has no other; NULL outside of its range.';
