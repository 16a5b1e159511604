-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.drift (
  endpoint text NOT NULL,
  field text NOT NULL,
  kind text NOT NULL,
  example text,
  first_seen_at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  times bigint DEFAULT 1 NOT NULL,
  CONSTRAINT drift_endpoint_field_kind_pk PRIMARY KEY (endpoint, field, kind)
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.drift IS 'What the service sends and its document does not say, or sends otherwise; the 5,000 differences that were seen last.';
COMMENT ON COLUMN training.drift.endpoint IS 'Endpoint whose answer differed';
COMMENT ON COLUMN training.drift.field IS 'Field in the answer';
COMMENT ON COLUMN training.drift.kind IS 'What differed, such as unknown or type';
COMMENT ON COLUMN training.drift.example IS 'One value as it was sent, cut';
COMMENT ON COLUMN training.drift.first_seen_at IS 'When it was first seen';
COMMENT ON COLUMN training.drift.last_seen_at IS 'When it was last seen';
COMMENT ON COLUMN training.drift.times IS 'How often it was seen';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.drift ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.drift TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.drift AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR false));
GRANT SELECT ON training.drift TO musette_one_account, musette_reader;
