-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE TABLE training.accounts (
  account_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  base_url text NOT NULL,
  needs_login boolean DEFAULT true NOT NULL,
  last_error text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  timezone text,
  timezone_set_by text,
  resting_hr integer,
  max_hr integer,
  CONSTRAINT accounts_pkey PRIMARY KEY (account_id),
  CONSTRAINT accounts_name UNIQUE (name),
  CONSTRAINT accounts_max_hr CHECK (max_hr >= 20 AND max_hr <= 250),
  CONSTRAINT accounts_resting_hr CHECK (resting_hr >= 20 AND resting_hr <= 250),
  CONSTRAINT accounts_timezone_set_by CHECK (timezone_set_by = ANY (ARRAY['account'::text, 'environment'::text]))
) WITH (autovacuum_analyze_threshold=1);
ALTER TABLE training.accounts ALTER COLUMN name SET STATISTICS 0;

-- Triggers, last changed by 0007_account_notifications
-- notify_change: functions/notify_accounts.sql
-- record_change: functions/record_login_change.sql

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON TABLE training.accounts IS 'One row an account at the service.';
COMMENT ON COLUMN training.accounts.account_id IS 'Key of the account in this database';
COMMENT ON COLUMN training.accounts.name IS 'Name given at login; `default` unless told otherwise';
COMMENT ON COLUMN training.accounts.base_url IS 'Address of the service that holds the account';
COMMENT ON COLUMN training.accounts.needs_login IS 'True while there are no tokens that work: run musette login';
COMMENT ON COLUMN training.accounts.last_error IS 'Last failure of the tokens, in words; NULL while they work';
COMMENT ON COLUMN training.accounts.created_at IS 'When the account was first known here';
COMMENT ON COLUMN training.accounts.timezone IS 'Time zone of the rider''s home, an IANA name such as Europe/Berlin: for the days of activities whose own zone nothing tells, and for today. NULL when it is not set: musette accounts set NAME --timezone ZONE';
COMMENT ON COLUMN training.accounts.timezone_set_by IS 'account: set for this account, at login, by musette accounts set or on the page. environment: taken from MUSETTE_TIMEZONE, which never replaces one that was set for the account. NULL without a time zone';
COMMENT ON COLUMN training.accounts.resting_hr IS 'Resting heart rate of the rider, 1/min, for TRIMP in ride_overview. NULL when it is not set: musette accounts set NAME --resting-hr N';
COMMENT ON COLUMN training.accounts.max_hr IS 'Highest heart rate of the rider, 1/min, for the zones in ride_intensity and TRIMP in ride_overview. NULL when it is not set, and then the highest of twelve months counts: musette accounts set NAME --max-hr N';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.accounts ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.accounts TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.accounts AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.accounts TO musette_one_account, musette_reader;
