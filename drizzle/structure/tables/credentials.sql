-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0018_riders
CREATE TABLE musette.credentials (
  account_id integer NOT NULL,
  client_id text NOT NULL,
  client_secret bytea NOT NULL,
  access_token bytea NOT NULL,
  refresh_token bytea NOT NULL,
  username text,
  password bytea,
  key_id text NOT NULL,
  obtained_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  not_before timestamp with time zone,
  unreadable boolean DEFAULT false NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  refusals integer DEFAULT 0 NOT NULL,
  refused_since timestamp with time zone,
  CONSTRAINT credentials_pkey PRIMARY KEY (account_id),
  CONSTRAINT credentials_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0018_riders
COMMENT ON TABLE musette.credentials IS 'Tokens, sealed with AES-256-GCM: one row an account.';
COMMENT ON COLUMN musette.credentials.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.credentials.client_id IS 'Client identifier at the service';
COMMENT ON COLUMN musette.credentials.client_secret IS 'Client secret, sealed';
COMMENT ON COLUMN musette.credentials.access_token IS 'Access token, sealed';
COMMENT ON COLUMN musette.credentials.refresh_token IS 'Refresh token, sealed';
COMMENT ON COLUMN musette.credentials.username IS 'Login name, only where the password is kept, too';
COMMENT ON COLUMN musette.credentials.password IS 'Password, sealed; NULL unless the user asked to keep it';
COMMENT ON COLUMN musette.credentials.key_id IS 'First 8 hex digits of the SHA-256 of the sealing key';
COMMENT ON COLUMN musette.credentials.obtained_at IS 'When the tokens were issued';
COMMENT ON COLUMN musette.credentials.expires_at IS 'When the access token ends';
COMMENT ON COLUMN musette.credentials.failures IS 'Failed refreshes since the last good one';
COMMENT ON COLUMN musette.credentials.not_before IS 'No refresh before this moment';
COMMENT ON COLUMN musette.credentials.unreadable IS 'Whether the account is parked because its tokens cannot be read; a reading that succeeds, or a login, ends that.';
COMMENT ON COLUMN musette.credentials.updated_at IS 'When the row was last written';
COMMENT ON COLUMN musette.credentials.refusals IS 'New tokens in a row that the service refused, each just made';
COMMENT ON COLUMN musette.credentials.refused_since IS 'When the first of them was refused; NULL while tokens are accepted';
