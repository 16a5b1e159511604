-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE OR REPLACE FUNCTION musette.visible_accounts() RETURNS integer[] LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held CONSTANT integer[] := array(SELECT h.account_id FROM musette.held_logins h WHERE h.login = session_user::text);
BEGIN
  -- A superuser is a member of every group; the maker of a group is its member from Postgres 16 on, without its rights.
  IF held = '{}' AND NOT EXISTS (
    SELECT FROM pg_roles u, pg_roles g
    WHERE u.rolname = session_user AND NOT u.rolsuper AND g.rolname = 'musette_one_account' AND pg_has_role(u.oid, g.oid,
      CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'USAGE, SET' END))
  THEN
    RETURN NULL;
  END IF;
  RETURN held;
END
$$;

-- Comments, last changed by 0037_held_logins
COMMENT ON FUNCTION musette.visible_accounts() IS 'The accounts that the login of this session sees: NULL for every account, an empty list for none. A login sees the accounts of its rows in held_logins; without rows it sees every account, or none as a member of musette_one_account.';
