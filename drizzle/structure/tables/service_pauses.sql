-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0040_take_call
CREATE UNLOGGED TABLE musette.service_pauses (
  origin text NOT NULL,
  until timestamp with time zone NOT NULL,
  lasts interval NOT NULL,
  CONSTRAINT service_pauses_pkey PRIMARY KEY (origin)
);
CREATE UNLOGGED SEQUENCE musette.spent_until AS bigint INCREMENT 1 MINVALUE 0 MAXVALUE 9223372036854775807 OWNED BY musette.service_pauses.until;

-- Comments, last changed by 0030_shared_pace
COMMENT ON TABLE musette.service_pauses IS 'The last pause of each service that asked to wait. Not in backups';
COMMENT ON COLUMN musette.service_pauses.origin IS 'Origin of the addresses of the service';
COMMENT ON COLUMN musette.service_pauses.until IS 'End of the pause, by the clock of the server';
COMMENT ON COLUMN musette.service_pauses.lasts IS 'Its whole time; when more is left, the clock was set back, and the pause is over';
