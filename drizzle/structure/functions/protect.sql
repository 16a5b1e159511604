-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE OR REPLACE FUNCTION musette.protect(relation regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  about CONSTANT pg_class := (SELECT c FROM pg_class c WHERE oid = relation);
  -- A SELECT around a call makes Postgres compute it once for a statement. Without the cast, = ANY ((SELECT …)) means a set of rows.
  of_account CONSTANT text := 'account_id = ANY ((SELECT musette.visible_accounts())::integer[])';
  has CONSTANT name[] := array(SELECT attname FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped);
  never_null CONSTANT boolean := (SELECT attnotnull FROM pg_attribute WHERE attrelid = relation AND attname = 'account_id' AND NOT attisdropped);
  -- A table of no account is empty for a held login, so that the views over it work. Rows of all accounts have no account in two tables.
  condition CONSTANT text := CASE
    WHEN relation = 'training.database'::regclass THEN 'true'
    WHEN never_null THEN of_account
    WHEN 'activity_id' = ANY (has) THEN 'activity_id IN (SELECT id FROM musette.visible_activities() AS id)'
    WHEN 'file_id' = ANY (has) THEN 'file_id IN (SELECT id FROM musette.visible_files() AS id)'
    WHEN relation IN ('training.workouts'::regclass, 'training.changes'::regclass) THEN of_account || ' OR account_id IS NULL'
    WHEN 'account_id' = ANY (has) THEN of_account
    ELSE 'false'
  END;
  policy name;
BEGIN
  IF about.relkind IN ('r', 'p') THEN
    FOR policy IN SELECT polname FROM pg_policy WHERE polrelid = relation AND polname IN ('everyone', 'musette_account', 'musette_one_account') LOOP
      EXECUTE format('DROP POLICY %I ON %s', policy, relation);
    END LOOP;
    EXECUTE format('CREATE POLICY everyone ON %s USING (true) WITH CHECK (true)', relation);
    EXECUTE format('CREATE POLICY musette_account ON %s AS RESTRICTIVE FOR SELECT USING ((SELECT musette.sees_all()) OR %s)', relation, condition);
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
  ELSIF about.relkind <> 'v' OR current_setting('server_version_num')::integer < 150000 THEN
    RETURN;
  ELSE
    EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', relation);
  END IF;
  IF about.relnamespace = 'training'::regnamespace AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_one_account') THEN
    EXECUTE format('GRANT SELECT ON %s TO musette_one_account', relation);
  END IF;
END
$$;

-- Comments, last changed by 0037_held_logins
COMMENT ON FUNCTION musette.protect(regclass) IS 'Makes a table or view show a held login its accounts only, and opens it to these logins; for others nothing changes. Views need Postgres 15.';
