-- A reader that goes on from the highest number misses nothing when numbers are given out and become visible in one order: each
-- transaction that writes changes waits for the one before it, from its first number to its end. So nothing else has to be waited for, such as
-- a long transaction that writes other tables, or one that a login which only reads keeps open.
CREATE FUNCTION musette.lock_changes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO musette.locks (name) VALUES ('changes') ON CONFLICT DO NOTHING;
  PERFORM FROM musette.locks WHERE name = 'changes' FOR UPDATE;
  RETURN NULL;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.lock_changes() IS 'Lets one transaction at a time write changes, from here to its commit: a number that was given earlier is never committed later. It runs before the statement takes a number.';
--> statement-breakpoint
CREATE TRIGGER lock_changes BEFORE INSERT ON training.changes FOR EACH STATEMENT EXECUTE FUNCTION musette.lock_changes();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION musette.record_change(account_id integer, kind text, path text, detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO training.changes (account_id, kind, path, detail) VALUES (account_id, kind, path, detail);
  NOTIFY musette_changes;
END
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.changes_settled AS
SELECT c.account_id, c.change_id, c.at, c.kind, c.path, c.detail, a.name AS account
FROM training.changes c LEFT JOIN training.accounts a ON a.account_id = c.account_id;
--> statement-breakpoint
COMMENT ON VIEW training.changes_settled IS 'The change feed for programs that go on from the highest change_id they have read: no other can appear before one that is here, because transactions write changes one after the other.';
--> statement-breakpoint
COMMENT ON COLUMN training.changes.transaction_id IS 'Transaction that wrote the row, by its number on the server where it was written';
--> statement-breakpoint
-- Statistics tell values of columns to every login that may ask for a plan, also to one that row security holds to other rows. No plan
-- of ours needs those of texts and places.
DO $$
DECLARE
  private record;
BEGIN
  FOR private IN
    SELECT c.oid, c.relname, a.attname, a.attnum FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'training'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
      AND (c.relname, a.attname::text) IN (
        ('activities', 'name'), ('activities', 'description'), ('activities', 'start_lat'), ('activities', 'start_lng'),
        ('activities', 'south'), ('activities', 'north'), ('activities', 'west'), ('activities', 'east'),
        ('samples', 'lat'), ('samples', 'lng'), ('fit_records', 'lat'), ('fit_records', 'lng'), ('accounts', 'name'), ('workouts', 'name'), ('workouts', 'description'), ('uploads', 'file_name'))
  LOOP
    EXECUTE format('ALTER TABLE training.%I ALTER COLUMN %I SET STATISTICS 0', private.relname, private.attname);
    -- What was gathered before stays, unless it is taken away: by a function of Postgres 18, or by a superuser.
    IF to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') IS NOT NULL THEN
      EXECUTE format('SELECT pg_clear_attribute_stats(%L, %L, %L, false)', 'training', private.relname, private.attname);
    ELSIF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
      DELETE FROM pg_statistic WHERE starelid = private.oid AND staattnum = private.attnum;
    END IF;
  END LOOP;
END
$$;
