-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION training.is_position(lat double precision, lng double precision) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce(abs(lat) <= 90 AND abs(lng) <= 180 AND (lat <> 0 OR lng <> 0), false);

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION training.is_position(double precision,double precision) IS 'Whether a latitude and a longitude, degrees, are a place on earth. Exactly 0, 0 is none, because devices write it before they have a position.';
