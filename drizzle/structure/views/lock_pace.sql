-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0030_shared_pace
CREATE OR REPLACE VIEW musette.lock_pace AS SELECT true AS lockable;

-- Comments, last changed by 0030_shared_pace
COMMENT ON VIEW musette.lock_pace IS 'Locked by the statement that gives out requests to the service';
COMMENT ON COLUMN musette.lock_pace.lockable IS 'Always true: the lock is what matters';
