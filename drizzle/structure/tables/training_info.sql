-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.training_info (
  account_id integer NOT NULL,
  observed_at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  status text,
  weight_kg double precision,
  ftp double precision,
  ltp double precision,
  hie double precision,
  pp double precision,
  tl_low double precision,
  tl_high double precision,
  tl_peak double precision,
  tl_total double precision,
  target_low double precision,
  target_high double precision,
  target_peak double precision,
  target_total double precision,
  source text,
  wotd_type text,
  wotd_name text,
  wotd_workout_id text,
  wotd_description text,
  wotd_difficulty double precision,
  wotd_url text,
  raw jsonb,
  CONSTRAINT training_info_account_id_observed_at_pk PRIMARY KEY (account_id, observed_at),
  CONSTRAINT training_info_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Triggers, last changed by 0000_schema
-- record_change: functions/record_content_change.sql
-- record_new: functions/record_content_change.sql

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.training_info IS 'The training information of the service over time: a new row only when something changed.';
COMMENT ON COLUMN training.training_info.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.training_info.observed_at IS 'When this state was first seen';
COMMENT ON COLUMN training.training_info.last_seen_at IS 'When this state was last seen unchanged';
COMMENT ON COLUMN training.training_info.status IS 'Freshness status, in the words of the service';
COMMENT ON COLUMN training.training_info.weight_kg IS 'Weight of the rider, kg';
COMMENT ON COLUMN training.training_info.ftp IS 'Threshold power, W';
COMMENT ON COLUMN training.training_info.ltp IS 'Lower threshold power, W';
COMMENT ON COLUMN training.training_info.hie IS 'High intensity energy; unit not told by the service, read as kJ';
COMMENT ON COLUMN training.training_info.pp IS 'Peak power, W';
COMMENT ON COLUMN training.training_info.tl_low IS 'Training load, low; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_high IS 'Training load, high; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_peak IS 'Training load, peak; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_total IS 'Training load, total; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_low IS 'Recommended training load score, low; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_high IS 'Recommended training load score, high; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_peak IS 'Recommended training load score, peak; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_total IS 'Recommended training load score, total; unit not told by the service';
COMMENT ON COLUMN training.training_info.source IS 'Where the training information comes from, in the words of the service';
COMMENT ON COLUMN training.training_info.wotd_type IS 'Workout of the day: None, Forecast or Scheduled';
COMMENT ON COLUMN training.training_info.wotd_name IS 'Workout of the day: name';
COMMENT ON COLUMN training.training_info.wotd_workout_id IS 'Workout of the day: identifier';
COMMENT ON COLUMN training.training_info.wotd_description IS 'Workout of the day: description';
COMMENT ON COLUMN training.training_info.wotd_difficulty IS 'Workout of the day: difficulty score; unit not told by the service';
COMMENT ON COLUMN training.training_info.wotd_url IS 'Workout of the day: address of its file';
COMMENT ON COLUMN training.training_info.raw IS 'The whole answer as the service sent it';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.training_info ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.training_info TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.training_info AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.training_info TO musette_one_account, musette_reader;
