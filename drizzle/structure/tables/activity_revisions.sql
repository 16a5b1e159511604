-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.activity_revisions (
  activity_id integer NOT NULL,
  observed_at timestamp with time zone NOT NULL,
  changes jsonb NOT NULL,
  CONSTRAINT activity_revisions_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);
ALTER TABLE training.activity_revisions REPLICA IDENTITY FULL;

-- Indexes, last changed by 0000_schema
CREATE INDEX activity_revisions_activity ON training.activity_revisions USING btree (activity_id, observed_at);

-- Comments, last changed by 0022_passes
COMMENT ON TABLE training.activity_revisions IS 'What changed in an activity after it was first fetched, one row a change seen.';
COMMENT ON COLUMN training.activity_revisions.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.activity_revisions.observed_at IS 'When the changed answer was asked for';
COMMENT ON COLUMN training.activity_revisions.changes IS 'Column names with the value before and the value after, as Postgres writes them in JSON, in the units of those columns: {"xss":[old,new]}. Where a comparison with the service found other values in the samples, in what is derived from them or in the stored answer, the first of each: {"samples.hr":[old,new]}';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.activity_revisions ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.activity_revisions TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.activity_revisions AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.activity_revisions TO musette_one_account, musette_reader;
