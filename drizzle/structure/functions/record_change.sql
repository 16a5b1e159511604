-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE OR REPLACE FUNCTION musette.record_change(account_id integer, kind text, path text, detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO training.changes (account_id, kind, path, detail) VALUES (account_id, kind, path, detail);
  NOTIFY musette_changes;
END
$$;

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.record_change(integer,text,text,jsonb) IS 'Records a change. Called at the end of a transaction, by deferred triggers, so that its lock is held for a moment only.';
