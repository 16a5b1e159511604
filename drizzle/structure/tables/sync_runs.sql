-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.sync_runs (
  run_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id integer,
  resource text NOT NULL,
  kind text NOT NULL,
  started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  finished_at timestamp with time zone,
  outcome text DEFAULT 'running'::text NOT NULL,
  listed integer,
  changed integer,
  fetched integer,
  absent integer,
  failed integer,
  error_code text,
  error text,
  bytes bigint,
  CONSTRAINT sync_runs_pkey PRIMARY KEY (run_id),
  CONSTRAINT sync_runs_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT sync_runs_outcome CHECK (outcome = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'partial'::text, 'abandoned'::text]))
);

-- Indexes, last changed by 0000_schema
CREATE INDEX sync_runs_account_started ON training.sync_runs USING btree (account_id, started_at DESC);
CREATE INDEX sync_runs_latest ON training.sync_runs USING btree (account_id, resource, kind, started_at DESC);
CREATE INDEX sync_runs_newest ON training.sync_runs USING btree (started_at DESC, run_id DESC);

-- Comments, last changed by 0014_verified_activities
COMMENT ON TABLE training.sync_runs IS 'One row a pass over one resource. Runs that ended well and changed nothing are kept for 90 days, the others for 400 days; the newest of each account, resource, kind, outcome and error_code stays for ever.';
COMMENT ON COLUMN training.sync_runs.run_id IS 'Key of the run';
COMMENT ON COLUMN training.sync_runs.account_id IS 'Account, see accounts; NULL for what belongs to none';
COMMENT ON COLUMN training.sync_runs.resource IS 'What was mirrored, such as activities; scrub: activities were fetched whole and compared, changed counts those that differed; export: the whole history was written into a folder; backup: the whole database was written to a file; heartbeat: a monitor was told whether all is in order, and partial that it is not; rebuild: everything derived from the stored answers was made anew';
COMMENT ON COLUMN training.sync_runs.kind IS 'Why it ran, such as poll, backfill or reconcile; of an export: schedule or by_hand; of a backup: schedule; of a rebuild: by_hand';
COMMENT ON COLUMN training.sync_runs.started_at IS 'Start of the run';
COMMENT ON COLUMN training.sync_runs.finished_at IS 'End of the run; NULL while it runs';
COMMENT ON COLUMN training.sync_runs.outcome IS 'running; done; partial: done, but some items failed; failed; abandoned: the program ended in the middle';
COMMENT ON COLUMN training.sync_runs.listed IS 'Entries in the list of the service; files of an export; activities of a rebuild';
COMMENT ON COLUMN training.sync_runs.changed IS 'Entries new or marked as changed; files that an export wrote; activities rebuilt';
COMMENT ON COLUMN training.sync_runs.fetched IS 'Items fetched';
COMMENT ON COLUMN training.sync_runs.absent IS 'Items found missing at the service; files that an export removed';
COMMENT ON COLUMN training.sync_runs.failed IS 'Items that failed';
COMMENT ON COLUMN training.sync_runs.error_code IS 'Stable word for the error';
COMMENT ON COLUMN training.sync_runs.error IS 'The error in words';
COMMENT ON COLUMN training.sync_runs.bytes IS 'Size of the file that a backup wrote, bytes';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.sync_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.sync_runs TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.sync_runs AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.sync_runs TO musette_one_account, musette_reader;
