-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.workout_sets (
  account_id integer NOT NULL,
  path text NOT NULL,
  "position" integer NOT NULL,
  name text,
  index integer,
  power double precision,
  duration double precision,
  power_rest double precision,
  duration_rest double precision,
  interval_count integer,
  resolved_at timestamp with time zone NOT NULL,
  signature jsonb,
  CONSTRAINT workout_sets_account_id_path_position_pk PRIMARY KEY (account_id, path, "position"),
  CONSTRAINT workout_sets_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.workout_sets IS 'The sets of a workout, resolved to watts and seconds for the signature of the rider.';
COMMENT ON COLUMN training.workout_sets.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_sets.path IS 'The service''s identifier of the workout';
COMMENT ON COLUMN training.workout_sets."position" IS 'Place of the set in the workout, from 0';
COMMENT ON COLUMN training.workout_sets.name IS 'Name of the interval that the set belongs to';
COMMENT ON COLUMN training.workout_sets.index IS 'Position of that interval in the workout designer';
COMMENT ON COLUMN training.workout_sets.power IS 'Target power of the work part, W';
COMMENT ON COLUMN training.workout_sets.duration IS 'Length of the work part, s';
COMMENT ON COLUMN training.workout_sets.power_rest IS 'Power of the rest part, W; NULL for sets without rest';
COMMENT ON COLUMN training.workout_sets.duration_rest IS 'Length of the rest part, s; NULL for sets without rest';
COMMENT ON COLUMN training.workout_sets.interval_count IS 'Number of repetitions';
COMMENT ON COLUMN training.workout_sets.resolved_at IS 'When the service resolved the set';
COMMENT ON COLUMN training.workout_sets.signature IS 'Signature of the rider at that time, as far as it is known here';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.workout_sets ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.workout_sets TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.workout_sets AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.workout_sets TO musette_one_account, musette_reader;
