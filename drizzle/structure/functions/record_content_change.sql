-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0026_revisions
CREATE OR REPLACE FUNCTION musette.record_content_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  what CONSTANT text := TG_ARGV[0];
  of_samples CONSTANT text[] := '{samples_at,sample_count,elapsed_s,start_lat,start_lng,south,north,west,east}';
  apart CONSTANT text[] := of_samples || 'absent_since'::text;
  after CONSTANT jsonb := musette.content(NEW);
  before jsonb;
  account CONSTANT integer := (after ->> 'account_id')::integer;
  path CONSTANT text := after ->> 'path';
  changed jsonb;
  revised jsonb;
  observed timestamptz;
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM musette.record_change(account, what || '.new', path, after - '{account_id,path}'::text[]);
    RETURN NULL;
  END IF;
  before := musette.content(OLD);
  changed := musette.differences(before, after);
  IF what = 'activity' THEN
    revised := changed - '{samples_at,summary_hash,absent_since}'::text[];
    -- A list says in a setting when it was requested; a detail is the row's new answer. Other writers tell nothing about the service.
    observed := CASE WHEN OLD.fetched_at IS NOT NULL THEN coalesce(
      nullif(current_setting('musette.listed_at', true), '')::timestamptz, nullif(NEW.fetched_at, OLD.fetched_at)) END;
    IF observed IS NOT NULL AND revised <> '{}' THEN
      -- What a comparison found in the samples is there already.
      UPDATE training.activity_revisions r SET changes = revised || r.changes
      WHERE r.activity_id = NEW.activity_id AND r.observed_at = observed AND r.xmin = pg_current_xact_id()::xid;
      IF NOT FOUND THEN
        INSERT INTO training.activity_revisions (activity_id, observed_at, changes) VALUES (NEW.activity_id, observed, revised);
      END IF;
    END IF;
  END IF;
  IF after ->> 'absent_since' IS NULL AND before ->> 'absent_since' IS NOT NULL THEN
    PERFORM musette.record_change(account, what || '.back', path, jsonb_build_object('absent_since', before -> 'absent_since'));
  END IF;
  IF changed - apart <> '{}' THEN
    PERFORM musette.record_change(account, what || '.changed', path, changed - apart);
  END IF;
  IF changed ?| of_samples THEN
    PERFORM musette.record_change(account, what || '.samples', path, jsonb_build_object('samples_at', after -> 'samples_at',
      'sample_count', after -> 'sample_count', 'elapsed_s', after -> 'elapsed_s', 'start_lat', after -> 'start_lat',
      'start_lng', after -> 'start_lng', 'south', after -> 'south', 'north', after -> 'north', 'west', after -> 'west',
      'east', after -> 'east'));
  END IF;
  IF after ->> 'absent_since' IS NOT NULL AND before ->> 'absent_since' IS NULL THEN
    PERFORM musette.record_change(account, what || '.absent', path, jsonb_build_object('absent_since', after -> 'absent_since'));
  END IF;
  RETURN NULL;
END
$$;

-- Triggers, last changed by 0000_schema
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.activities DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(old.*) IS DISTINCT FROM musette.content(new.*))
  EXECUTE FUNCTION musette.record_content_change('activity');
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.activities DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW
  EXECUTE FUNCTION musette.record_content_change('activity');
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.training_info DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(old.*) IS DISTINCT FROM musette.content(new.*))
  EXECUTE FUNCTION musette.record_content_change('training_info');
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.training_info DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW
  EXECUTE FUNCTION musette.record_content_change('training_info');
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.workouts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(old.*) IS DISTINCT FROM musette.content(new.*))
  EXECUTE FUNCTION musette.record_content_change('workout');
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.workouts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW
  EXECUTE FUNCTION musette.record_content_change('workout');

-- Comments, last changed by 0026_revisions
COMMENT ON FUNCTION musette.record_content_change() IS 'Records what an insert or update of an activity, a workout or training information changes, and what an answer changes in an activity that was fetched before as its revision.';
