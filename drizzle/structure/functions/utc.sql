-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION musette.utc(instant timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.utc(timestamp with time zone) IS 'An instant as ISO 8601 in UTC, to the millisecond.';
