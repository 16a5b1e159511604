-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.webhook_conditions (
  subject text NOT NULL,
  began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT webhook_conditions_pkey PRIMARY KEY (subject)
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.webhook_conditions IS 'What is wrong at this time and became a message, so that there is one when it begins and one when it is over.';
COMMENT ON COLUMN musette.webhook_conditions.subject IS 'What is wrong: mirror with the number of an account, or backup';
COMMENT ON COLUMN musette.webhook_conditions.began_at IS 'When the message was made';
