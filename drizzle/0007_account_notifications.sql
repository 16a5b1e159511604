CREATE FUNCTION musette.notify_accounts() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NOTIFY musette_accounts;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.notify_accounts() IS 'Tells a running daemon that an account has come, is gone, or has signed in or out.';
CREATE TRIGGER notify_change AFTER INSERT OR DELETE OR UPDATE OF needs_login, base_url ON training.accounts
  FOR EACH STATEMENT EXECUTE FUNCTION musette.notify_accounts();
