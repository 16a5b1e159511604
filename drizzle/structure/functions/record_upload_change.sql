-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.record_upload_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  PERFORM musette.record_change(NEW.account_id, 'upload.' || NEW.state, NEW.activity_path, jsonb_build_object(
    'content_id', NEW.content_id, 'file_name', NEW.file_name, 'reason', NEW.reason));
  RETURN NULL;
END
$function$;

-- Triggers, last changed by 0000_schema
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.uploads DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (old.state <> new.state AND (new.state = ANY (ARRAY['accepted'::text, 'mirrored'::text, 'duplicate'::text, 'refused'::text])))
  EXECUTE FUNCTION musette.record_upload_change();

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.record_upload_change() IS 'Records that a file was accepted, mirrored, refused or is a duplicate.';
