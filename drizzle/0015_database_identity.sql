CREATE TABLE training.database (
  id integer PRIMARY KEY DEFAULT 1 NOT NULL,
  identity uuid DEFAULT gen_random_uuid() NOT NULL,
  line uuid DEFAULT gen_random_uuid() NOT NULL,
  line_began_at timestamptz DEFAULT clock_timestamp() NOT NULL,
  earlier_lines uuid[] DEFAULT '{}' NOT NULL,
  CONSTRAINT database_one CHECK (id = 1)
);
INSERT INTO training.database DEFAULT VALUES;
COMMENT ON TABLE training.database IS 'Which database this is: one row. Archives, the folder of an export and the change restored name it, and so do the folders that it uses';
COMMENT ON COLUMN training.database.id IS 'Number of the row, always 1';
COMMENT ON COLUMN training.database.identity IS 'Made with the tables; a restore keeps that of the backup, so that a database and all that was restored from its backups have one identity';
COMMENT ON COLUMN training.database.line IS 'Another one after each restore: two databases that were restored from one backup have different lines. When it changes, rows that a reader has read may be gone, see the change restored';
COMMENT ON COLUMN training.database.line_began_at IS 'When the line began: when the tables were made, or the database was restored';
COMMENT ON COLUMN training.database.earlier_lines IS 'The lines before the restores of this database, oldest first';
COMMENT ON COLUMN training.changes.detail IS 'Of …new: column names with their values; of …changed: column names with the value before and the value after, {"xss":[old,new]}, in the units of those columns (summary_hash stands for summary); of restored: up_to, the number up to which the feed is as it was before (read the tables anew when you had read further), backup_made_at, and identity and line of the database, see database: the line is another one than before; of the others what they are about: sample_count, elapsed_s in s, start and box in degrees, absent_since, content_id, file_name and reason';
