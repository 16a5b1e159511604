-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE TABLE training.database (
  id integer DEFAULT 1 NOT NULL,
  identity uuid DEFAULT gen_random_uuid() NOT NULL,
  line uuid DEFAULT gen_random_uuid() NOT NULL,
  line_began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  earlier_lines uuid[] DEFAULT '{}'::uuid[] NOT NULL,
  system_identifier bigint,
  timeline integer,
  database_oid bigint,
  CONSTRAINT database_pkey PRIMARY KEY (id),
  CONSTRAINT database_one CHECK (id = 1)
);

-- Comments, last changed by 0028_lines_follow
COMMENT ON TABLE training.database IS 'Which database this is: one row. Archives, the folder of an export and the change restored name it, and so do the folders that it uses';
COMMENT ON COLUMN training.database.id IS 'Number of the row, always 1';
COMMENT ON COLUMN training.database.identity IS 'Made with the tables; a restore keeps that of the backup, so that a database and all that was restored from its backups have one identity';
COMMENT ON COLUMN training.database.line IS 'Another one after each restore, and when the database goes on as a copy, from an earlier moment or on another server: two databases that come from one have different lines. When it changes, rows that a reader has read may be gone, see the change restored';
COMMENT ON COLUMN training.database.line_began_at IS 'When the line began: when the tables were made, or at the last change restored';
COMMENT ON COLUMN training.database.earlier_lines IS 'The lines before this one, oldest first';
COMMENT ON COLUMN training.database.system_identifier IS 'The Postgres cluster of this line, as pg_control_system() names it; NULL before the first change, and where the server does not tell';
COMMENT ON COLUMN training.database.timeline IS 'The timeline of the cluster, another one after each promotion and each restore to a point in time; NULL before the first change, and where the server does not tell';
COMMENT ON COLUMN training.database.database_oid IS 'Number of the database in the cluster, another one of each copy; NULL before the first change';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.database ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.database TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.database AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR true));
GRANT SELECT ON training.database TO musette_one_account, musette_reader;
