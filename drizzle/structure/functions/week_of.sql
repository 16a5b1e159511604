-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE FUNCTION training.week_of(day date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('week', day::timestamp)::date;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.week_of(date) IS 'The Monday of the week of a day, by which all views name a week.';
