-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE OR REPLACE FUNCTION musette.is_protected(relation regclass) RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE c.relkind
    WHEN 'v' THEN coalesce(c.reloptions, '{}') @> '{security_invoker=true}'
    ELSE c.relrowsecurity AND EXISTS (
      SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'musette_account' AND NOT p.polpermissive AND p.polroles = '{0}') END
  FROM pg_class c WHERE c.oid = relation
$$;

-- Comments, last changed by 0037_held_logins
COMMENT ON FUNCTION musette.is_protected(regclass) IS 'Whether a table or view shows a held login its accounts only.';
