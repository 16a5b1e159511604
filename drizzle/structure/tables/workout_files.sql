-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.workout_files (
  account_id integer NOT NULL,
  workout_id text NOT NULL,
  format text NOT NULL,
  content text NOT NULL,
  sha256 text NOT NULL,
  fetched_at timestamp with time zone NOT NULL,
  made_for jsonb,
  CONSTRAINT workout_files_account_id_workout_id_format_pk PRIMARY KEY (account_id, workout_id, format),
  CONSTRAINT workout_files_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.workout_files IS 'Files of the workout of the day, the last content for each workout and format.';
COMMENT ON COLUMN training.workout_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_files.workout_id IS 'Identifier of the workout';
COMMENT ON COLUMN training.workout_files.format IS 'erg or zwo';
COMMENT ON COLUMN training.workout_files.content IS 'The file';
COMMENT ON COLUMN training.workout_files.sha256 IS 'SHA-256 of the file, hex';
COMMENT ON COLUMN training.workout_files.fetched_at IS 'When the file was asked for';
COMMENT ON COLUMN training.workout_files.made_for IS 'Signature of the rider and entry of the workout that the file was made for, as far as they are known here';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.workout_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.workout_files TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.workout_files AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.workout_files TO musette_one_account, musette_reader;
