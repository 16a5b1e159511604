-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE musette.locks (
  name text NOT NULL,
  CONSTRAINT locks_pkey PRIMARY KEY (name)
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE musette.locks IS 'Rows that transactions lock, so that one at a time does what they name; nothing reads them.';
COMMENT ON COLUMN musette.locks.name IS 'What one transaction at a time does, and for which account, service or folder';
