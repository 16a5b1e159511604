ALTER TABLE training.activities ADD COLUMN verified_at timestamptz;
COMMENT ON COLUMN training.activities.verified_at IS 'When the answer was asked for that was last seen to be this activity whole, with every value of every sample: it was written then, or compared and found equal. NULL while no answer with samples has been';
COMMENT ON COLUMN training.activity_revisions.changes IS 'Column names with the value before and the value after, in the units of those columns: {"xss":[old,new]}. Where a comparison with the service found other values in the samples or in what is derived from them, the first of each: {"samples.hr":[old,new]}';
COMMENT ON COLUMN training.sync_runs.resource IS 'What was mirrored, such as activities; scrub: activities were fetched whole and compared, changed counts those that differed; export: the whole history was written into a folder; backup: the whole database was written to a file; heartbeat: a monitor was told whether all is in order, and partial that it is not; rebuild: everything derived from the stored answers was made anew';
CREATE OR REPLACE FUNCTION musette.content(activity training.activities) RETURNS jsonb LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT to_jsonb(activity) - '{summary,detail_state,first_seen_at,updated_at,listed_at,fetched_at,verified_at,wanted_at,list_fields,detail_fields,next_fetch_at,fetch_attempts,fetch_error}'::text[]
$$;
