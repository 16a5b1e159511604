-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.fade_recovery(load double precision, training double precision, days double precision, tau_days double precision,
  training_tau_days double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN greatest(musette.fade(load, days, tau_days), musette.fade(musette.fade(training, days, training_tau_days), 1, tau_days));

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.fade_recovery(double precision,double precision,double precision,double precision,double precision) IS 'What is left of a recovery load after some days without an activity, at least its share of the training load.';
