-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0022_passes
CREATE OR REPLACE VIEW musette.lock_pass AS SELECT true AS lockable;

-- Comments, last changed by 0022_passes
COMMENT ON VIEW musette.lock_pass IS 'Locked by the process that mirrors an account in one pass; the name of its connection says which account';
COMMENT ON COLUMN musette.lock_pass.lockable IS 'Always true: the lock is what matters';
