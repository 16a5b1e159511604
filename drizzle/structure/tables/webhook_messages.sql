-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.webhook_messages (
  number bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  message_id uuid DEFAULT gen_random_uuid() NOT NULL,
  webhook text NOT NULL,
  account_id integer,
  event text NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  data jsonb NOT NULL,
  state text DEFAULT 'open'::text NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  next_try_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  last_error text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT webhook_messages_pkey PRIMARY KEY (number),
  CONSTRAINT webhook_messages_message_id UNIQUE (message_id),
  CONSTRAINT webhook_messages_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT webhook_messages_state CHECK (state = ANY (ARRAY['open'::text, 'delivered'::text, 'given_up'::text, 'dropped'::text]))
);

-- Indexes, last changed by 0000_schema
CREATE INDEX webhook_messages_ended ON musette.webhook_messages USING btree (ended_at);
CREATE INDEX webhook_messages_open ON musette.webhook_messages USING btree (webhook, account_id, number) WHERE (state = 'open'::text);

-- Comments, last changed by 0009_restored_messages
COMMENT ON TABLE musette.webhook_messages IS 'The messages of the webhooks: written in one transaction with the mark in webhooks, sent later. Those that have ended are kept for a week, those that were given up for 90 days.';
COMMENT ON COLUMN musette.webhook_messages.number IS 'Order of the messages: one waits for those before it of the same webhook and account';
COMMENT ON COLUMN musette.webhook_messages.message_id IS 'What the receiver gets as webhook-id, the same at each attempt';
COMMENT ON COLUMN musette.webhook_messages.webhook IS 'Name of the webhook, see webhooks; it may be gone from the file since';
COMMENT ON COLUMN musette.webhook_messages.account_id IS 'Account, see accounts; NULL for what concerns the whole database';
COMMENT ON COLUMN musette.webhook_messages.event IS 'What happened, as the receiver gets it in type: activity.new, breakthrough, history.mirrored, history.recalculated, upload.refused, login.lost, mirror.stale, mirror.recovered, mirror.restored, backup.failed, backup.recovered';
COMMENT ON COLUMN musette.webhook_messages.occurred_at IS 'When it happened';
COMMENT ON COLUMN musette.webhook_messages.data IS 'The values and the text of the message, in the units of the columns that they come from';
COMMENT ON COLUMN musette.webhook_messages.state IS 'open: not delivered yet; delivered; given_up: not delivered within three days, or the receiver answered 410 Gone; dropped: the webhook is gone from the file';
COMMENT ON COLUMN musette.webhook_messages.attempts IS 'Number of attempts to send it';
COMMENT ON COLUMN musette.webhook_messages.next_try_at IS 'Not sent before this time; during an attempt the time from which another process may send it';
COMMENT ON COLUMN musette.webhook_messages.last_error IS 'Why the last attempt failed; NULL before the first and after a good one';
COMMENT ON COLUMN musette.webhook_messages.created_at IS 'When the message was made';
COMMENT ON COLUMN musette.webhook_messages.ended_at IS 'When it was delivered, given up or dropped; NULL while it is open';
