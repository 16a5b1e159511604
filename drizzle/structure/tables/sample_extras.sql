-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.sample_extras (
  activity_id integer NOT NULL,
  field text NOT NULL,
  "values" double precision[] NOT NULL,
  others jsonb,
  CONSTRAINT sample_extras_activity_id_field_pk PRIMARY KEY (activity_id, field),
  CONSTRAINT sample_extras_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);
ALTER TABLE training.sample_extras ALTER COLUMN "values" SET STORAGE EXTERNAL;

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.sample_extras IS 'Fields of the samples that have no column, one row a field.';
COMMENT ON COLUMN training.sample_extras.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.sample_extras.field IS 'Name of the field as the service sends it';
COMMENT ON COLUMN training.sample_extras."values" IS 'One number a sample, in the order of t and ordinal, see the view sample_extra_values; null where the sample has none; unit not told by the service';
COMMENT ON COLUMN training.sample_extras.others IS 'Values that are no numbers (text, lists, objects), by their place in values from 1; NULL where all are numbers or missing';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.sample_extras ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.sample_extras TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.sample_extras AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.sample_extras TO musette_one_account, musette_reader;
