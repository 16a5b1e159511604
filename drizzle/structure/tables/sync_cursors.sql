-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.sync_cursors (
  account_id integer NOT NULL,
  resource text NOT NULL,
  updated_from timestamp with time zone,
  advanced_at timestamp with time zone,
  list_cap integer,
  list_checked_at timestamp with time zone,
  CONSTRAINT sync_cursors_account_id_resource_pk PRIMARY KEY (account_id, resource),
  CONSTRAINT sync_cursors_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.sync_cursors IS 'How far each resource has been mirrored.';
COMMENT ON COLUMN training.sync_cursors.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.sync_cursors.resource IS 'What is mirrored, such as activities';
COMMENT ON COLUMN training.sync_cursors.updated_from IS 'Changes up to this moment, by the clock of the service, are known here';
COMMENT ON COLUMN training.sync_cursors.advanced_at IS 'When the cursor was last moved';
COMMENT ON COLUMN training.sync_cursors.list_cap IS 'Longest list the service gives at once, when it was found to cut lists; NULL: not known to cut';
COMMENT ON COLUMN training.sync_cursors.list_checked_at IS 'When the list of the service was last compared with its parts';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.sync_cursors ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.sync_cursors TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.sync_cursors AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.sync_cursors TO musette_one_account, musette_reader;
