-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.webhook_digests (
  account_id integer NOT NULL,
  event text NOT NULL,
  count integer NOT NULL,
  began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  last_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT webhook_digests_account_id_event_pk PRIMARY KEY (account_id, event),
  CONSTRAINT webhook_digests_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.webhook_digests IS 'What is gathered into one message, which is made when nothing more has come for a while.';
COMMENT ON COLUMN musette.webhook_digests.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.webhook_digests.event IS 'Event of the message, see webhook_messages';
COMMENT ON COLUMN musette.webhook_digests.count IS 'Number of activities, changes or files so far';
COMMENT ON COLUMN musette.webhook_digests.began_at IS 'When the first came';
COMMENT ON COLUMN musette.webhook_digests.last_at IS 'When the last came';
