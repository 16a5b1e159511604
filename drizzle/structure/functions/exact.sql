-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION musette.exact(value double precision) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(value) < 1e15 THEN value::text::numeric::text END;

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.exact(double precision) IS 'A number without an exponent, as schemas of XML ask, that reads back as the same; NULL of what is no measurement.';

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION musette.exact(value real) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(value) < 1e15 THEN value::text::numeric::text END;

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.exact(real) IS 'The same of a number of four bytes.';
