-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.workout_definitions (
  account_id integer NOT NULL,
  path text NOT NULL,
  resolved_at timestamp with time zone,
  signature jsonb,
  name text,
  description text,
  raw jsonb,
  failed_at timestamp with time zone,
  fetch_error text,
  CONSTRAINT workout_definitions_account_id_path_pk PRIMARY KEY (account_id, path),
  CONSTRAINT workout_definitions_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.workout_definitions IS 'Each workout as the service resolved it to watts and seconds for an account, and why it could not be fetched. Its sets: workout_sets.';
COMMENT ON COLUMN training.workout_definitions.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_definitions.path IS 'Path of the workout, see workouts';
COMMENT ON COLUMN training.workout_definitions.resolved_at IS 'When the answer that workout_sets shows was asked for; NULL before the first';
COMMENT ON COLUMN training.workout_definitions.signature IS 'Signature of the rider at that time, as far as it is known here';
COMMENT ON COLUMN training.workout_definitions.name IS 'Name in the definition; the one of the list is in workouts';
COMMENT ON COLUMN training.workout_definitions.description IS 'Description in the definition';
COMMENT ON COLUMN training.workout_definitions.raw IS 'The whole definition as the service sent it, unknown fields too';
COMMENT ON COLUMN training.workout_definitions.failed_at IS 'When it was last asked for in vain; NULL when the last answer could be used';
COMMENT ON COLUMN training.workout_definitions.fetch_error IS 'Why it could not be had then';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.workout_definitions ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.workout_definitions TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.workout_definitions AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.workout_definitions TO musette_one_account, musette_reader;
