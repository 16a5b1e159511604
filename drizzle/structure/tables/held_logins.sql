-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0037_held_logins
CREATE TABLE musette.held_logins (
  login text NOT NULL,
  account_id integer NOT NULL,
  CONSTRAINT held_logins_login_account_id_pk PRIMARY KEY (login, account_id),
  CONSTRAINT held_logins_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0037_held_logins
COMMENT ON TABLE musette.held_logins IS 'Logins that see single accounts only, see musette.visible_accounts()';
COMMENT ON COLUMN musette.held_logins.login IS 'Name of the login';
COMMENT ON COLUMN musette.held_logins.account_id IS 'An account that it sees, see training.accounts';
