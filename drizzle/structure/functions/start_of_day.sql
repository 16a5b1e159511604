-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE FUNCTION training.start_of_day(day date, timezone text) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN day::timestamp AT TIME ZONE timezone;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.start_of_day(date,text) IS 'The instant at which a day begins in a time zone, such as the one of today.';
