-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0030_shared_pace
CREATE UNLOGGED TABLE musette.callers (
  caller uuid NOT NULL,
  allowed integer NOT NULL,
  demand integer NOT NULL,
  concurrency integer NOT NULL,
  requests_per_minute integer NOT NULL,
  until timestamp with time zone NOT NULL,
  CONSTRAINT callers_pkey PRIMARY KEY (caller)
);
CREATE UNLOGGED SEQUENCE musette.spent_until AS bigint INCREMENT 1 MINVALUE 0 MAXVALUE 9223372036854775807 OWNED BY musette.callers.until;

-- Comments, last changed by 0030_shared_pace
COMMENT ON TABLE musette.callers IS 'The processes that request something from the service at this time. Not in backups';
COMMENT ON COLUMN musette.callers.caller IS 'Number of the process, another one after each start';
COMMENT ON COLUMN musette.callers.allowed IS 'Requests that it may have under way at one time: its share of the concurrency';
COMMENT ON COLUMN musette.callers.demand IS 'Requests that it wants to have under way at one time';
COMMENT ON COLUMN musette.callers.concurrency IS 'Its MUSETTE_CONCURRENCY; the lowest holds for all';
COMMENT ON COLUMN musette.callers.requests_per_minute IS 'Its MUSETTE_REQUESTS_PER_MINUTE; the lowest holds for all';
COMMENT ON COLUMN musette.callers.until IS 'When it counts as dead, unless it calls again';
