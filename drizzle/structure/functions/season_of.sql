-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE FUNCTION training.season_of(day date) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN isfinite(day) THEN date_part('year', day)::integer END;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON FUNCTION training.season_of(date) IS 'The season of a day: its calendar year. NULL of infinity.';
