-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.waiting_files (
  folder text NOT NULL,
  path text NOT NULL,
  account_name text,
  size_bytes bigint,
  code text NOT NULL,
  reason text NOT NULL,
  waiting_since timestamp with time zone NOT NULL,
  looked_at timestamp with time zone NOT NULL
);
ALTER TABLE training.waiting_files REPLICA IDENTITY FULL;

-- Comments, last changed by 0039_tracks_for_pages
COMMENT ON TABLE training.waiting_files IS 'What waits in the drop folder and has no row in uploads yet, because it is not whole, cannot be read or belongs to nobody, and what is wrong with the folder itself. One row a file or folder, written by the daemon that watches; the first 1,000 of a folder.';
COMMENT ON COLUMN training.waiting_files.folder IS 'Path of the drop folder';
COMMENT ON COLUMN training.waiting_files.path IS 'Path of the file or folder in the drop folder; the path of the drop folder when that is what is wrong';
COMMENT ON COLUMN training.waiting_files.account_name IS 'Account whose file it is; NULL when it is no file';
COMMENT ON COLUMN training.waiting_files.size_bytes IS 'Size of the file, bytes; NULL when it is no file';
COMMENT ON COLUMN training.waiting_files.code IS 'Why, in a word: not_whole, unreadable_file, too_large, no_account; not_taken of what is no FIT file, such as a link, or a GPX or TCX file; of the folder itself: vanished, accounts, read_only, text, unreadable, watch';
COMMENT ON COLUMN training.waiting_files.reason IS 'Why it waits, and what to do';
COMMENT ON COLUMN training.waiting_files.waiting_since IS 'Since when it lies there unchanged, or is wrong';
COMMENT ON COLUMN training.waiting_files.looked_at IS 'When the daemon last said so; a quarter of an hour ago at most while it runs';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.waiting_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.waiting_files TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.waiting_files AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR false));
GRANT SELECT ON training.waiting_files TO musette_one_account, musette_reader;
