-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.next_load(load double precision, score double precision, days double precision, training double precision,
  tau_days double precision, gain double precision, convention text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE convention
    WHEN 'before' THEN greatest(musette.fade(load + gain * score, days, tau_days), musette.fade(training, 1, tau_days))
    ELSE greatest(musette.fade(load, days, tau_days), musette.fade(training, 1, tau_days)) + gain * score END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.next_load(double precision,double precision,double precision,double precision,double precision,double precision,text) IS 'The load that the next activity tells: score is that of the activity whose impulse lies between, which is the next one where loads are told after it; training is the training load at the start of the next one for a recovery load, NULL for a training load.';
