-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.record_login_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF NEW.needs_login THEN
    PERFORM musette.record_change(NEW.account_id, 'login.lost', NULL, jsonb_build_object('account', NEW.name, 'reason', NEW.last_error));
  ELSE
    PERFORM musette.record_change(NEW.account_id, 'login.restored', NULL, jsonb_build_object('account', NEW.name));
  END IF;
  RETURN NULL;
END
$function$;

-- Triggers, last changed by 0000_schema
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.accounts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (old.needs_login <> new.needs_login)
  EXECUTE FUNCTION musette.record_login_change();

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.record_login_change() IS 'Records that the login of an account was lost or works again.';
