-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.migrations (
  id integer DEFAULT nextval('musette.migrations_id_seq'::regclass) NOT NULL,
  hash text NOT NULL,
  created_at bigint,
  musette text,
  CONSTRAINT migrations_pkey PRIMARY KEY (id)
);
CREATE SEQUENCE musette.migrations_id_seq AS integer INCREMENT 1 MINVALUE 1 MAXVALUE 2147483647 OWNED BY musette.migrations.id;

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.migrations IS 'Journal of the migrations that this database has seen.';
COMMENT ON COLUMN musette.migrations.id IS 'Key';
COMMENT ON COLUMN musette.migrations.hash IS 'SHA-256 of the migration';
COMMENT ON COLUMN musette.migrations.created_at IS 'Moment the migration was generated, ms since 1970';
COMMENT ON COLUMN musette.migrations.musette IS 'Version of musette that applied it; NULL where that is not recorded';
