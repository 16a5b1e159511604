-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
-- Lets the daemon cut training.samples and training.fit_records of large mirrors into partitions. docs/decisions.md tells how and why.
CREATE OR REPLACE VIEW musette.lock_partitions AS SELECT true AS lockable;

-- Comments, last changed by 0029_partitions
COMMENT ON VIEW musette.lock_partitions IS 'Locked by the process that moves rows into partitions';
COMMENT ON COLUMN musette.lock_partitions.lockable IS 'Always true: the lock is what matters';
