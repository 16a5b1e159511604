-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.fit_originals (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  encoding text NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT fit_originals_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT fit_originals_file FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files(account_id, content_id) ON DELETE CASCADE,
  CONSTRAINT fit_originals_encoding CHECK (encoding = 'gzip'::text)
);
ALTER TABLE training.fit_originals ALTER COLUMN body SET STORAGE EXTERNAL;

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.fit_originals IS 'The bytes of each FIT file that was read, unless MUSETTE_KEEP_FIT is false. musette export PATH --format fit writes them.';
COMMENT ON COLUMN training.fit_originals.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_originals.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_originals.encoding IS 'Compression of body: gzip';
COMMENT ON COLUMN training.fit_originals.body IS 'The compressed bytes; unpacked, their SHA-256 is content_id';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_originals ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_originals TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_originals AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.fit_originals TO musette_one_account, musette_reader;
