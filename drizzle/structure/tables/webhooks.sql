-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.webhooks (
  name text NOT NULL,
  change_id bigint NOT NULL,
  added_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  gone_at timestamp with time zone,
  CONSTRAINT webhooks_pkey PRIMARY KEY (name)
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.webhooks IS 'The webhooks of the file that MUSETTE_WEBHOOKS names, by their names: addresses and secrets are in that file only.';
COMMENT ON COLUMN musette.webhooks.name IS 'Name of the webhook in the file';
COMMENT ON COLUMN musette.webhooks.change_id IS 'Number of the last change that messages were made of, see training.changes; at first the newest one when the webhook was added';
COMMENT ON COLUMN musette.webhooks.added_at IS 'When the daemon first found it in the file';
COMMENT ON COLUMN musette.webhooks.gone_at IS 'When its receiver answered 410 Gone, so that it gets no messages until the next start of the daemon; NULL otherwise';
