-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE FUNCTION training.in_main_run(t timestamptz, recorded_from timestamptz, elapsed_s double precision) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(t >= recorded_from AND t <= recorded_from + (elapsed_s + 1) * interval '1 second', true);

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON FUNCTION training.in_main_run(timestamp with time zone,timestamp with time zone,double precision) IS 'Whether a sample is of the main run of its activity and no stray, by the columns of samples and activities with these names; see stray_samples of activities.';
