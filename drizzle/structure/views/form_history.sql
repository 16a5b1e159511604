-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0010_views_name_accounts
CREATE OR REPLACE VIEW training.form_history AS
SELECT v.account_id,
    v.at,
    v.day,
    v.activity_id,
    v.tl_ftp,
    v.tl_hie,
    v.tl_pp,
    v.tl_total,
    v.rl_ftp,
    v.rl_hie,
    v.rl_pp,
    v.rl_total,
    v.form,
    v.training_status,
    v.freshness,
    a.name AS account
   FROM ( SELECT activities.account_id,
            activities.started_at AS at,
            activities.started_at_local::date AS day,
            activities.activity_id,
            activities.tl_ftp,
            activities.tl_hie,
            activities.tl_pp,
            activities.tl_ftp + activities.tl_hie + activities.tl_pp AS tl_total,
            activities.rl_ftp,
            activities.rl_hie,
            activities.rl_pp,
            activities.rl_ftp + activities.rl_hie + activities.rl_pp AS rl_total,
            activities.form,
            activities.training_status,
            activities.freshness
           FROM training.activities
          WHERE activities.absent_since IS NULL AND activities.started_at IS NOT NULL AND num_nonnulls(activities.tl_ftp, activities.tl_hie, activities.tl_pp, activities.rl_ftp, activities.rl_hie, activities.rl_pp, activities.form, activities.training_status, activities.freshness) > 0) v
     LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.form_history IS 'Training load, recovery load and form as the service told them with each activity.';
COMMENT ON COLUMN training.form_history.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_history.at IS 'Start of the activity';
COMMENT ON COLUMN training.form_history.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.form_history.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.form_history.tl_ftp IS 'Training load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_hie IS 'Training load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_pp IS 'Training load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_total IS 'Derived: tl_ftp + tl_hie + tl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_history.rl_ftp IS 'Recovery load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_hie IS 'Recovery load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_pp IS 'Recovery load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_total IS 'Derived: rl_ftp + rl_hie + rl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_history.form IS 'Form; unit not told by the service';
COMMENT ON COLUMN training.form_history.training_status IS 'Training status as a number; unit not told by the service';
COMMENT ON COLUMN training.form_history.freshness IS 'Freshness, in the words of the service';
COMMENT ON COLUMN training.form_history.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.form_history SET (security_invoker=true);
GRANT SELECT ON training.form_history TO musette_one_account, musette_reader;
