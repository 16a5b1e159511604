-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0004_content_versions
CREATE TABLE musette.content_versions (
  activity_id integer NOT NULL,
  version uuid NOT NULL,
  CONSTRAINT content_versions_pkey PRIMARY KEY (activity_id),
  CONSTRAINT content_versions_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);

-- Comments, last changed by 0004_content_versions
COMMENT ON TABLE musette.content_versions IS 'Which samples, fields without a column and power curve an activity has: one row an activity that was ever given any.';
COMMENT ON COLUMN musette.content_versions.activity_id IS 'The activity';
COMMENT ON COLUMN musette.content_versions.version IS 'A random number, another one with each rewrite of any of them, in the same transaction. Equal versions mean equal rows, also in a database that was restored from a backup of this one; files that were exported before tell by it what has changed';
