-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0007_account_notifications
CREATE OR REPLACE FUNCTION musette.notify_accounts() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NOTIFY musette_accounts;
  RETURN NULL;
END
$$;

-- Triggers, last changed by 0007_account_notifications
CREATE TRIGGER notify_change AFTER INSERT OR DELETE OR UPDATE OF needs_login, base_url ON training.accounts
  FOR EACH STATEMENT
  EXECUTE FUNCTION musette.notify_accounts();

-- Comments, last changed by 0007_account_notifications
COMMENT ON FUNCTION musette.notify_accounts() IS 'Tells a running daemon that an account has come, is gone, or has signed in or out.';
