-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.rebuilds (
  account_id integer NOT NULL,
  version text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  through integer NOT NULL,
  failed integer[] NOT NULL,
  CONSTRAINT rebuilds_pkey PRIMARY KEY (account_id),
  CONSTRAINT rebuilds_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.rebuilds IS 'How far a rebuild has come that was stopped, so that the next one goes on there: one row an account, removed when the rebuild ends.';
COMMENT ON COLUMN musette.rebuilds.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.rebuilds.version IS 'Version of musette that rebuilds; another one begins again';
COMMENT ON COLUMN musette.rebuilds.started_at IS 'When the rebuild began';
COMMENT ON COLUMN musette.rebuilds.through IS 'Activity id: this one and all lower ones are done';
COMMENT ON COLUMN musette.rebuilds.failed IS 'Activity ids among them that could not be rebuilt';
