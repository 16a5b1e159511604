-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE FUNCTION training.local_day(instant timestamptz, timezone text) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (instant AT TIME ZONE timezone)::date;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.local_day(timestamp with time zone,text) IS 'The day of an instant in a time zone, such as the one of today. The day of an activity is another: that of its own clock, started_at_local::date.';
