-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.fitness_history AS
SELECT v.account_id, v.at, v.day, v.source, v.activity_id, v.ftp, v.hie_kj, v.pp, v.ltp, a.name AS account
FROM (
  SELECT account_id, started_at AS at, started_at_local::date AS day, 'activity' AS source, activity_id,
    sig_ftp AS ftp, sig_atc / 1000 AS hie_kj, sig_pp AS pp, prev_sig_ltp AS ltp
  FROM training.activities
  WHERE absent_since IS NULL AND started_at IS NOT NULL AND num_nonnulls(sig_ftp, sig_atc, sig_pp, prev_sig_ltp) > 0
  UNION ALL
  SELECT i.account_id, i.observed_at, training.local_day(i.observed_at, t.timezone), 'training_info', NULL, i.ftp, i.hie, i.pp, i.ltp
  FROM training.training_info i JOIN training.today t USING (account_id)
  WHERE num_nonnulls(i.ftp, i.hie, i.pp, i.ltp) > 0
) v
LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.fitness_history IS 'The signature of the rider over time: after each activity, as far back as activities go, and each time the training information of the service changed since it is polled.';
COMMENT ON COLUMN training.fitness_history.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fitness_history.at IS 'Start of the activity, or when the training information was first seen so';
COMMENT ON COLUMN training.fitness_history.day IS 'Derived: day of the activity in its own time zone; of training information in that of today';
COMMENT ON COLUMN training.fitness_history.source IS 'activity or training_info';
COMMENT ON COLUMN training.fitness_history.activity_id IS 'Activity, see activities; NULL for training information';
COMMENT ON COLUMN training.fitness_history.ftp IS 'Threshold power, W';
COMMENT ON COLUMN training.fitness_history.hie_kj IS 'High intensity energy; unit not told by the service, read as kJ. For activities derived: sig_atc / 1000, a guess that atc is the same in J';
COMMENT ON COLUMN training.fitness_history.pp IS 'Peak power, W';
COMMENT ON COLUMN training.fitness_history.ltp IS 'Lower threshold power, W; for activities the one before the activity (prev_sig_ltp), the only one the service tells';
COMMENT ON COLUMN training.fitness_history.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.fitness_history SET (security_invoker=true);
GRANT SELECT ON training.fitness_history TO musette_one_account, musette_reader;
