-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE OR REPLACE VIEW training.changes_settled AS
SELECT c.account_id, c.change_id, c.at, c.kind, c.path, c.detail, a.name AS account
FROM training.changes c LEFT JOIN training.accounts a ON a.account_id = c.account_id;

-- Comments, last changed by 0020_settled_beside_readers
COMMENT ON VIEW training.changes_settled IS 'The change feed for programs that go on from the highest change_id they have read: no other can appear before one that is here, because transactions write changes one after the other.';
COMMENT ON COLUMN training.changes_settled.account_id IS 'Account, see accounts; NULL for the default workout list and for a restore';
COMMENT ON COLUMN training.changes_settled.change_id IS 'Number of the change: read on with change_id > the highest one read, in this order; numbers may be missing';
COMMENT ON COLUMN training.changes_settled.at IS 'When it was recorded';
COMMENT ON COLUMN training.changes_settled.kind IS 'What happened, see changes';
COMMENT ON COLUMN training.changes_settled.path IS 'The service''s identifier of the activity or workout, see changes';
COMMENT ON COLUMN training.changes_settled.detail IS 'The values, see changes';
COMMENT ON COLUMN training.changes_settled.account IS 'Name of the account; NULL for the default workout list and for a restore';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.changes_settled SET (security_invoker=true);
GRANT SELECT ON training.changes_settled TO musette_one_account, musette_reader;
