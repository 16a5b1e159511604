-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.content(activity training.activities) RETURNS jsonb LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT to_jsonb(activity) - '{summary,detail_state,first_seen_at,updated_at,listed_at,fetched_at,verified_at,wanted_at,list_fields,detail_fields,next_fetch_at,fetch_attempts,fetch_error,stray_samples,recorded_from,sport,near_breakthrough}'::text[]
$$;

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON FUNCTION musette.content(training.activities) IS 'The columns of an activity that its changes are about: all but those that serve fetching, and those that follow from others. The hash of the summary stands for the summary.';

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.content(info training.training_info)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT to_jsonb(info) - '{last_seen_at,raw}'::text[]
$function$;

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.content(training.training_info) IS 'The columns of training information that its changes are about.';

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.content(workout training.workouts)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT to_jsonb(workout) - '{changed_at,updated_at}'::text[]
$function$;

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.content(training.workouts) IS 'The columns of a workout that its changes are about.';
