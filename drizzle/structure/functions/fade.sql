-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.fade(load double precision, days double precision, tau_days double precision) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  -- More would be an underflow, which Postgres reports as an error.
  RETURN load * exp(-least(greatest(days, 0) / tau_days, 50));

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.fade(double precision,double precision,double precision) IS 'What is left of a load after some days without an activity.';
