CREATE TABLE musette.content_versions (
  activity_id integer PRIMARY KEY,
  version uuid NOT NULL,
  CONSTRAINT content_versions_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
COMMENT ON TABLE musette.content_versions IS 'Which samples, fields without a column and power curve an activity has: one row an activity that was ever given any.';
COMMENT ON COLUMN musette.content_versions.activity_id IS 'The activity';
COMMENT ON COLUMN musette.content_versions.version IS 'A random number, another one with each rewrite of any of them, in the same transaction. Equal versions mean equal rows, also in a database that was restored from a backup of this one; files that were exported before tell by it what has changed';
-- Of what is here already nothing tells how it came, so no other database has the same version.
INSERT INTO musette.content_versions (activity_id, version) SELECT activity_id, gen_random_uuid() FROM training.activities;
