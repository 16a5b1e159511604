-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0021_fit_positions
CREATE TABLE training.fit_files (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  manufacturer text,
  product text,
  product_number integer,
  serial_number bigint,
  created_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  size_bytes bigint NOT NULL,
  parts integer NOT NULL,
  records integer NOT NULL,
  problem text,
  fields jsonb NOT NULL,
  read_at timestamp with time zone NOT NULL,
  utc_offset_s integer,
  file_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  reader_version integer DEFAULT 1 NOT NULL,
  min_temperature double precision,
  avg_temperature double precision,
  max_temperature double precision,
  right_power_pct double precision,
  start_lat double precision,
  start_lng double precision,
  CONSTRAINT fit_files_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT fit_files_file_id UNIQUE (file_id),
  CONSTRAINT fit_files_upload FOREIGN KEY (account_id, content_id) REFERENCES training.uploads(account_id, content_id) ON DELETE CASCADE
);

-- Comments, last changed by 0023_fit_values
COMMENT ON TABLE training.fit_files IS 'What the head unit wrote: one row a FIT activity of the ledger, read when it passes. The activity made from it is in uploads, and in the view ride_files the file of each activity.';
COMMENT ON COLUMN training.fit_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_files.content_id IS 'SHA-256 of the FIT bytes, hex, see uploads';
COMMENT ON COLUMN training.fit_files.manufacturer IS 'Maker of the device that wrote the file, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_files.product IS 'Product: the name that the file gives, else that of the FIT profile (Garmin only); NULL when neither has one';
COMMENT ON COLUMN training.fit_files.product_number IS 'Number of the product at its maker';
COMMENT ON COLUMN training.fit_files.serial_number IS 'Serial number of the device';
COMMENT ON COLUMN training.fit_files.created_at IS 'When the device began the file, by its own clock';
COMMENT ON COLUMN training.fit_files.started_at IS 'Start of the first session, else the first record';
COMMENT ON COLUMN training.fit_files.ended_at IS 'Time of the last record';
COMMENT ON COLUMN training.fit_files.size_bytes IS 'Size of the FIT bytes';
COMMENT ON COLUMN training.fit_files.parts IS 'Number of FIT files that are chained in it; 1 as a rule';
COMMENT ON COLUMN training.fit_files.records IS 'Number of records, about one a second';
COMMENT ON COLUMN training.fit_files.problem IS 'What could not be read of the file and why, or the bytes that follow its end and are no FIT; NULL when all was read';
COMMENT ON COLUMN training.fit_files.fields IS 'Every field of the messages file_id, file_creator and activity, each an object by the name of its message; see fit_laps';
COMMENT ON COLUMN training.fit_files.read_at IS 'When it was read';
COMMENT ON COLUMN training.fit_files.utc_offset_s IS 'Derived: wall clock of the device minus UTC, s, from the times of its activity message (local_timestamp, timestamp); NULL where one is missing, where they are not apart as time zones are (-12 to +14 hours), and where they are equal, as devices write them that know no time zone';
COMMENT ON COLUMN training.fit_files.file_id IS 'Key of the file in this database: fit_records and fit_messages name it in each row, where content_id would take most of the room';
COMMENT ON COLUMN training.fit_files.reader_version IS 'Version of the reader that made the rows of the file. From 2 on they have fit_records and fit_messages, from 3 on also values that devices write in odd ways and the beats of swim straps; musette rebuild makes the rows of files of older ones anew, when their bytes are kept';
COMMENT ON COLUMN training.fit_files.min_temperature IS 'Derived: lowest temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.avg_temperature IS 'Derived: mean temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.max_temperature IS 'Derived: highest temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.right_power_pct IS 'Derived: mean share of the right leg in the power, %, of the records with power above 0; NULL where the device does not say which leg it measured';
COMMENT ON COLUMN training.fit_files.start_lat IS 'Derived: latitude of the first position in the records, degrees; NULL without one';
COMMENT ON COLUMN training.fit_files.start_lng IS 'Derived: longitude of that position, degrees';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_files TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_files AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.fit_files TO musette_one_account, musette_reader;
