-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE OR REPLACE FUNCTION musette.visible_files() RETURNS SETOF integer LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN RETURN QUERY SELECT f.file_id FROM training.fit_files f WHERE f.account_id = ANY (musette.visible_accounts()); END $$;

-- Comments, last changed by 0037_held_logins
COMMENT ON FUNCTION musette.visible_files() IS 'The FIT files of the accounts that a held login sees.';
