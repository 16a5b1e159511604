-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.with_impulse(load double precision[], gain double precision[], score double precision[], times integer DEFAULT 1)
  RETURNS double precision[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY[load[1] + times * gain[1] * score[1], load[2] + times * gain[2] * score[2], load[3] + times * gain[3] * score[3]];

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.with_impulse(double precision[],double precision[],double precision[],integer) IS 'Loads with so many times the impulse of an activity.';
