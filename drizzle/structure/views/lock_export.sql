-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE OR REPLACE VIEW musette.lock_export AS SELECT true AS lockable;

-- Comments, last changed by 0000_schema
COMMENT ON VIEW musette.lock_export IS 'Locked by the process that writes an export of the whole history';
COMMENT ON COLUMN musette.lock_export.lockable IS 'Always true: the lock is what matters';
