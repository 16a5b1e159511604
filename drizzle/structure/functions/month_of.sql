-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE FUNCTION training.month_of(day date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('month', day::timestamp)::date;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.month_of(date) IS 'The first day of the month of a day, by which all views name a month.';
