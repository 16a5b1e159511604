-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.loads_after(tl double precision[], rl double precision[], days double precision, tau double precision[],
  recovery_tau double precision[]) RETURNS double precision[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY[musette.fade(tl[1], days, tau[1]), musette.fade(tl[2], days, tau[2]), musette.fade(tl[3], days, tau[3]),
    musette.fade_recovery(rl[1], tl[1], days, recovery_tau[1], tau[1]), musette.fade_recovery(rl[2], tl[2], days, recovery_tau[2], tau[2]),
    musette.fade_recovery(rl[3], tl[3], days, recovery_tau[3], tau[3])];

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.loads_after(double precision[],double precision[],double precision,double precision[],double precision[]) IS 'The three training and then the three recovery loads after some days without an activity.';
