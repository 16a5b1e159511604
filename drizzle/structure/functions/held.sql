-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.held(load double precision[], gain double precision[], score double precision[], convention text) RETURNS double precision[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE convention WHEN 'before' THEN musette.with_impulse(load, gain, score) ELSE load END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.held(double precision[],double precision[],double precision[],text) IS 'Loads at once after the start of an activity that told them.';
