-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0018_riders
CREATE TABLE musette.riders (
  account_id integer NOT NULL,
  name_hash bytea,
  key_id text,
  pair bytea,
  is_other boolean DEFAULT false NOT NULL,
  CONSTRAINT riders_pkey PRIMARY KEY (account_id),
  CONSTRAINT riders_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0018_riders
COMMENT ON TABLE musette.riders IS 'Whose account it is: one row an account that was signed in. It stays after a logout.';
COMMENT ON COLUMN musette.riders.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.riders.name_hash IS 'HMAC-SHA-256 of the user name of the last login by password and the address of its service, with a key made from the secret key; NULL when none is known';
COMMENT ON COLUMN musette.riders.key_id IS 'Key of name_hash, as in credentials; after a rotation of the key the hash says nothing any more';
COMMENT ON COLUMN musette.riders.pair IS 'The tokens that were compared with the account: SHA-256 of credentials.access_token as it is stored. Other tokens are compared before their first use';
COMMENT ON COLUMN musette.riders.is_other IS 'Whether those tokens belong to another rider than the activities of the account';
