-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE TABLE training.fit_fields (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  "position" integer NOT NULL,
  name text,
  units text,
  application_id text,
  developer_index integer,
  field_number integer NOT NULL,
  native_field text,
  count integer NOT NULL,
  offsets_s integer[] NOT NULL,
  "values" double precision[] NOT NULL,
  fields jsonb NOT NULL,
  records integer[],
  others jsonb,
  CONSTRAINT fit_fields_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, "position"),
  CONSTRAINT fit_fields_file FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files(account_id, content_id) ON DELETE CASCADE
);
ALTER TABLE training.fit_fields ALTER COLUMN "values" SET STORAGE EXTERNAL;

-- Comments, last changed by 0023_fit_values
COMMENT ON TABLE training.fit_fields IS 'The fields of the records of a FIT file that have no column in fit_records, one row a field with its values: those that apps and sensors added (developer fields), such as core temperature or muscle oxygen, and those of the device itself. One row a value: the view fit_field_values. A described field without a value is here, too.';
COMMENT ON COLUMN training.fit_fields.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_fields.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_fields."position" IS 'Place of the field in the file, from 1; fields of the device come after those of apps';
COMMENT ON COLUMN training.fit_fields.name IS 'Name; of a field of the device that of the FIT profile, or field_N for one that it does not know; NULL of a field of an app that the file does not describe';
COMMENT ON COLUMN training.fit_fields.units IS 'Unit, in the words of the app; NULL for a field of the device: it is in the unit of the FIT profile';
COMMENT ON COLUMN training.fit_fields.application_id IS 'Identifier of the app, hex; NULL when the file names none';
COMMENT ON COLUMN training.fit_fields.developer_index IS 'Number of the app in the file; NULL for a field of the device';
COMMENT ON COLUMN training.fit_fields.field_number IS 'Number of the field of that app, or in the FIT profile';
COMMENT ON COLUMN training.fit_fields.native_field IS 'Field of the FIT profile that it is, or that it stands for, when the app says so';
COMMENT ON COLUMN training.fit_fields.count IS 'Number of values in the records';
COMMENT ON COLUMN training.fit_fields.offsets_s IS 'Time from started_at of the file to each value, s; null of a record without a time';
COMMENT ON COLUMN training.fit_fields."values" IS 'The values as they were written, in units; null where a value is no number, see others. Where a record has several values and the profile one, they are here as a list, and the first one is in the column of fit_records';
COMMENT ON COLUMN training.fit_fields.fields IS 'Every field of its description; see fit_laps';
COMMENT ON COLUMN training.fit_fields.records IS 'Number of the record of each value, see position of fit_records; NULL where every record has a value, and in files that an earlier version read';
COMMENT ON COLUMN training.fit_fields.others IS 'Values that are no numbers (texts, lists, whole numbers beyond 2^53, bytes of a value whose type is not known), by their place in values from 1; NULL where all are numbers';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_fields ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_fields TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_fields AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.fit_fields TO musette_one_account, musette_reader;
