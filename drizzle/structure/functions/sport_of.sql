-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
-- Which samples are the recording, which kind of sport an activity is, and one definition of the recommended load. What is derived from
-- samples is computed anew where stray_samples is NULL: when the daemon starts, by sync and by rebuild.
CREATE OR REPLACE FUNCTION training.sport_of(activity_type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN activity_type ~* 'motor|snowmob' THEN 'other'
  WHEN activity_type ~* 'swim' THEN 'swimming'
  WHEN activity_type ~* '(\m|virtual|trail)run|running|jog|treadmill' THEN 'running'
  WHEN activity_type ~* 'cycl|bik(e|ing)|(\m|virtual)rid(e|ing)\M|spinning|\mmtb\M|\mbmx\M|gravel|velodrom' THEN 'cycling'
  ELSE 'other'
END;

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON FUNCTION training.sport_of(text) IS 'The kind of sport of an activity_type: cycling, running, swimming, or other for all the rest and for NULL. By the words in it: Virtual Cycling, Mountain Biking and Gravel Ride are cycling.';
