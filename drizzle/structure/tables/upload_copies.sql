-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.upload_copies (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  file_name text NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT upload_copies_account_id_content_id_file_name_pk PRIMARY KEY (account_id, content_id, file_name),
  CONSTRAINT upload_copies_upload FOREIGN KEY (account_id, content_id) REFERENCES training.uploads(account_id, content_id) ON DELETE CASCADE
);

-- Indexes, last changed by 0000_schema
CREATE INDEX upload_copies_newest ON training.upload_copies USING btree (seen_at DESC, content_id);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.upload_copies IS 'Further files with bytes that the ledger knows under another name: one row a content and name. They are not sent.';
COMMENT ON COLUMN training.upload_copies.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.upload_copies.content_id IS 'SHA-256 of the bytes, hex, see uploads';
COMMENT ON COLUMN training.upload_copies.file_name IS 'Name of the further file';
COMMENT ON COLUMN training.upload_copies.seen_at IS 'When a file of this name and content was last seen';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.upload_copies ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.upload_copies TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.upload_copies AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.upload_copies TO musette_one_account, musette_reader;
