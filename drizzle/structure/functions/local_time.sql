-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
-- Postgres writes the body of each of these functions into the query that calls it.
CREATE OR REPLACE FUNCTION training.local_time(instant timestamptz, timezone text) RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN instant AT TIME ZONE timezone;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.local_time(timestamp with time zone,text) IS 'What a clock shows at an instant in a time zone, such as the one of today.';
