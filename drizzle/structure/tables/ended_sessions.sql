-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.ended_sessions (
  session_id text NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  CONSTRAINT ended_sessions_pkey PRIMARY KEY (session_id)
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.ended_sessions IS 'Sessions of the dashboard that were signed out before their time; removed once they have ended by themselves.';
COMMENT ON COLUMN musette.ended_sessions.session_id IS 'The random id in the session cookie; without its signature it opens nothing.';
COMMENT ON COLUMN musette.ended_sessions.ends_at IS 'When the session would have ended by itself.';
