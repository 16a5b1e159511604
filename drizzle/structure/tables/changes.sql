-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.changes (
  change_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id integer,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  kind text NOT NULL,
  path text,
  detail jsonb DEFAULT '{}'::jsonb NOT NULL,
  transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
  CONSTRAINT changes_pkey PRIMARY KEY (change_id),
  CONSTRAINT changes_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Indexes, last changed by 0000_schema
CREATE INDEX changes_at ON training.changes USING btree (at);

-- Triggers, last changed by 0020_settled_beside_readers
-- lock_changes: functions/lock_changes.sql

-- Comments, last changed by 0028_lines_follow
COMMENT ON TABLE training.changes IS 'The change feed: one row for each thing that became different, written in the transaction that changed it. Programs read it through the view changes_settled; at each commit with changes Postgres sends a notification on the channel musette_changes. Rows are kept for 90 days.';
COMMENT ON COLUMN training.changes.change_id IS 'Number of the change; a later commit has a higher number, and numbers may be missing. No number is used twice: each line begins far above all that were given out, see database';
COMMENT ON COLUMN training.changes.account_id IS 'Account, see accounts; NULL for the default workout list and for a restore';
COMMENT ON COLUMN training.changes.at IS 'When it was recorded';
COMMENT ON COLUMN training.changes.kind IS 'What happened: activity.new, activity.changed, activity.samples (samples written or replaced, or an answer without any), activity.absent, activity.back; training_info.new, training_info.changed; workout.new, workout.changed, workout.absent, workout.back; upload.accepted, upload.mirrored, upload.duplicate, upload.refused; login.lost, login.restored; restored (a new line of the whole database, see database)';
COMMENT ON COLUMN training.changes.path IS 'The service''s identifier of the activity or workout; of an upload that of its activity; NULL when there is none';
COMMENT ON COLUMN training.changes.detail IS 'Of …new: column names with their values; of …changed: column names with the value before and the value after, {"xss":[old,new]}, in the units of those columns (summary_hash stands for summary); of restored: up_to, the number up to which the feed is as it was before (read the tables anew when you had read further), identity and line of the database, see database, and cause: backup (with backup_made_at), server (another cluster), timeline (a replica was promoted, or a point in time restored), copy (another database of the cluster) or earlier (its files were put back; up_to is 0); of the others what they are about: sample_count, elapsed_s in s, start and box in degrees, absent_since, content_id, file_name and reason';
COMMENT ON COLUMN training.changes.transaction_id IS 'Transaction that wrote the row, by its number on the server where it was written';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.changes TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.changes AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[])) OR (account_id IS NULL)));
GRANT SELECT ON training.changes TO musette_one_account, musette_reader;
