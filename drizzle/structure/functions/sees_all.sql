-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE OR REPLACE FUNCTION musette.sees_all() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN musette.visible_accounts() IS NULL; END $$;

-- Comments, last changed by 0037_held_logins
COMMENT ON FUNCTION musette.sees_all() IS 'Whether the login of this session sees every account.';
