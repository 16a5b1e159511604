-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.webhook_waiting (
  account_id integer NOT NULL,
  path text NOT NULL,
  CONSTRAINT webhook_waiting_account_id_path_pk PRIMARY KEY (account_id, path),
  CONSTRAINT webhook_waiting_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.webhook_waiting IS 'New activities that become a message when their samples and scores are here.';
COMMENT ON COLUMN musette.webhook_waiting.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.webhook_waiting.path IS 'The service''s identifier of the activity';
