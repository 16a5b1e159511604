-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE VIEW training.records AS
SELECT v.account_id, v.activity_id, v.started_at_local::date AS day, v.name, v.medal, v.breakthrough,
  v.prev_sig_ftp AS ftp_before, v.sig_ftp AS ftp_after, v.sig_ftp - v.prev_sig_ftp AS ftp_change,
  v.prev_sig_pp AS pp_before, v.sig_pp AS pp_after, v.sig_pp - v.prev_sig_pp AS pp_change,
  v.prev_sig_atc AS atc_before, v.sig_atc AS atc_after, v.sig_atc - v.prev_sig_atc AS atc_change, a.name AS account, v.sport
FROM training.activities v LEFT JOIN training.accounts a ON a.account_id = v.account_id
WHERE v.absent_since IS NULL AND (v.medal > 0 OR v.breakthrough > 0);

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON VIEW training.records IS 'Activities for which the service gave a medal or a breakthrough, and what they did to the signature.';
COMMENT ON COLUMN training.records.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.records.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.records.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.records.name IS 'Name of the activity';
COMMENT ON COLUMN training.records.medal IS 'Medal, a whole number of the service; 0 is none';
COMMENT ON COLUMN training.records.breakthrough IS 'Breakthrough, a whole number of the service; 0, -1 and NULL are none';
COMMENT ON COLUMN training.records.ftp_before IS 'Threshold power before the activity, W';
COMMENT ON COLUMN training.records.ftp_after IS 'Threshold power after the activity, W';
COMMENT ON COLUMN training.records.ftp_change IS 'Derived: ftp_after - ftp_before, W';
COMMENT ON COLUMN training.records.pp_before IS 'Peak power before the activity, W';
COMMENT ON COLUMN training.records.pp_after IS 'Peak power after the activity, W';
COMMENT ON COLUMN training.records.pp_change IS 'Derived: pp_after - pp_before, W';
COMMENT ON COLUMN training.records.atc_before IS 'Signature number atc before the activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.records.atc_after IS 'Signature number atc after the activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.records.atc_change IS 'Derived: atc_after - atc_before; unit not told by the service, probably J';
COMMENT ON COLUMN training.records.account IS 'Name of the account';
COMMENT ON COLUMN training.records.sport IS 'Derived: kind of sport, see activities';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.records SET (security_invoker=true);
GRANT SELECT ON training.records TO musette_one_account, musette_reader;
