-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.set_signature_notes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.near_breakthrough := NEW.breakthrough = -1;
  NEW.sig_manual := coalesce(musette.flag(NEW.summary #>> '{sig,manual}'), musette.flag(NEW.list_fields ->> 'sig_manual'));
  NEW.sig_error := nullif(nullif(coalesce(NEW.summary #>> '{sig,error}', NEW.list_fields ->> 'sig_error'), ''), 'false');
  RETURN NEW;
END
$$;

-- Triggers, last changed by 0033_form_by_day
CREATE TRIGGER set_signature_notes BEFORE INSERT OR UPDATE OF breakthrough, summary, list_fields, near_breakthrough, sig_manual, sig_error ON training.activities
  FOR EACH ROW
  EXECUTE FUNCTION musette.set_signature_notes();

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.set_signature_notes() IS 'Derives what the service says of the signature of an activity from its summary, else its list entry.';
