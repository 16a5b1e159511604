-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE TABLE training.workouts (
  account_id integer,
  base_url text,
  path text NOT NULL,
  name text,
  description text,
  last_modified timestamp with time zone,
  changed_at timestamp with time zone,
  absent_since timestamp with time zone,
  updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  raw jsonb,
  CONSTRAINT workouts_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);
ALTER TABLE training.workouts ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE training.workouts ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE training.workouts REPLICA IDENTITY FULL;

-- Indexes, last changed by 0000_schema
CREATE UNIQUE INDEX workouts_account_path ON training.workouts USING btree (account_id, path) WHERE (account_id IS NOT NULL);
CREATE UNIQUE INDEX workouts_default_path ON training.workouts USING btree (base_url, path) WHERE (account_id IS NULL);

-- Triggers, last changed by 0000_schema
-- record_change: functions/record_content_change.sql
-- record_new: functions/record_content_change.sql
-- set_updated_at: functions/set_updated_at.sql

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.workouts IS 'The workout lists: those of an account, and the default list that needs no account.';
COMMENT ON COLUMN training.workouts.account_id IS 'Account, see accounts; NULL for the default list';
COMMENT ON COLUMN training.workouts.base_url IS 'Base URL of the service whose default list it is; NULL for the list of an account';
COMMENT ON COLUMN training.workouts.path IS 'The service''s identifier of the workout';
COMMENT ON COLUMN training.workouts.name IS 'Name';
COMMENT ON COLUMN training.workouts.description IS 'Description';
COMMENT ON COLUMN training.workouts.last_modified IS 'When the workout was last changed at the service; a time sent without a zone is read as UTC';
COMMENT ON COLUMN training.workouts.changed_at IS 'When the entry was first listed as it is now, by our clock';
COMMENT ON COLUMN training.workouts.absent_since IS 'When the workout was first found missing in its list; NULL while it is listed';
COMMENT ON COLUMN training.workouts.updated_at IS 'When the entry or its absence last changed here, see changes';
COMMENT ON COLUMN training.workouts.raw IS 'The whole entry as the service sent it';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.workouts ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.workouts TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.workouts AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[])) OR (account_id IS NULL)));
GRANT SELECT ON training.workouts TO musette_one_account, musette_reader;
