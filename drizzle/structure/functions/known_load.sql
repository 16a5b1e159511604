-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0041_float8_views
CREATE OR REPLACE FUNCTION musette.known_load(load double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(load) < 1e-20 THEN 0 ELSE load END;

-- Comments, last changed by 0041_float8_views
COMMENT ON FUNCTION musette.known_load(double precision) IS 'A load or score, 0 for the trace that years without an activity leave: Postgres reports the underflow of its square as an error.';
