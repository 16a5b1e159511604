-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.form_now AS
SELECT a.account_id, f.at, f.day, f.activity_id, f.tl_ftp, f.tl_hie, f.tl_pp, f.tl_total, f.rl_ftp, f.rl_hie, f.rl_pp, f.rl_total, f.form,
  f.training_status, f.freshness, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT at, day, activity_id, tl_ftp, tl_hie, tl_pp, tl_total, rl_ftp, rl_hie, rl_pp, rl_total, form, training_status, freshness
  FROM training.form_history h
  WHERE h.account_id = a.account_id AND h.form IS NOT NULL ORDER BY h.at DESC, h.activity_id DESC LIMIT 1
) f;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON VIEW training.form_now IS 'Form and loads after the last activity with a form: the newest row of form_history that has one.';
COMMENT ON COLUMN training.form_now.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_now.at IS 'Start of the activity';
COMMENT ON COLUMN training.form_now.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.form_now.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.form_now.tl_ftp IS 'Training load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_hie IS 'Training load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_pp IS 'Training load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_now.tl_total IS 'Derived: tl_ftp + tl_hie + tl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_now.rl_ftp IS 'Recovery load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_hie IS 'Recovery load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_pp IS 'Recovery load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_now.rl_total IS 'Derived: rl_ftp + rl_hie + rl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_now.form IS 'Form; unit not told by the service';
COMMENT ON COLUMN training.form_now.training_status IS 'Training status as a number; unit not told by the service';
COMMENT ON COLUMN training.form_now.freshness IS 'Freshness, in the words of the service';
COMMENT ON COLUMN training.form_now.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.form_now SET (security_invoker=true);
GRANT SELECT ON training.form_now TO musette_one_account, musette_reader;
