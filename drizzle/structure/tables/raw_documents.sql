-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.raw_documents (
  activity_id integer NOT NULL,
  fetched_at timestamp with time zone NOT NULL,
  sha256 text NOT NULL,
  encoding text NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT raw_documents_pkey PRIMARY KEY (activity_id),
  CONSTRAINT raw_documents_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor=0.05);
ALTER TABLE training.raw_documents ALTER COLUMN body SET STORAGE EXTERNAL;

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.raw_documents IS 'The answer that the samples of an activity were made from, as the service sent it, compressed. One row an activity: the next answer with samples replaces it, or removes it when MUSETTE_KEEP_RAW is false, and autovacuum frees the room. musette rebuild makes everything that is derived from it anew.';
COMMENT ON COLUMN training.raw_documents.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.raw_documents.fetched_at IS 'When the answer was asked for';
COMMENT ON COLUMN training.raw_documents.sha256 IS 'SHA-256 of the answer before compression, hex';
COMMENT ON COLUMN training.raw_documents.encoding IS 'Compression of body: gzip or identity';
COMMENT ON COLUMN training.raw_documents.body IS 'The compressed bytes of the answer';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.raw_documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.raw_documents TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.raw_documents AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.raw_documents TO musette_one_account, musette_reader;
