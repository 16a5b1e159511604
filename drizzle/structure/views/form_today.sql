-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE VIEW training.form_today AS
SELECT t.account_id, t.day, now() AS at, s.activity_id, f.tl_low, f.tl_high, f.tl_peak, f.tl_total, f.rl_low, f.rl_high, f.rl_peak,
  f.rl_total, f.form, f.reason, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT v.activity_id, v.started_at, ARRAY[v.tl_ftp, v.tl_hie, v.tl_pp] AS tl, ARRAY[v.rl_ftp, v.rl_hie, v.rl_pp] AS rl,
    ARRAY[v.xlss, v.xhss, v.xpss] AS xss,
    num_nulls(v.tl_ftp, v.tl_hie, v.tl_pp, v.rl_ftp, v.rl_hie, v.rl_pp, v.xlss, v.xhss, v.xpss) = 0 AS is_told
  FROM training.activities v
  -- As in form_steps, whose newest row an index finds here.
  WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at <= now() AND isfinite(v.started_at)
    AND isfinite(v.started_at_local) AND (v.detail_state <> 'mirrored' OR num_nonnulls(v.tl_ftp, v.rl_ftp, v.xss) > 0)
  ORDER BY v.started_at DESC, v.activity_id DESC LIMIT 1
) s
LEFT JOIN LATERAL (SELECT * FROM musette.form_rules(t.account_id) OFFSET 0) r ON true
CROSS JOIN LATERAL musette.form_row(
  musette.loads_after(musette.held(s.tl, r.gain, s.xss, r.convention), musette.held(s.rl, r.recovery_gain, s.xss, r.convention),
    extract(epoch FROM now() - s.started_at)::float8 / 86400, r.tau, r.recovery_tau),
  CASE WHEN r.convention IS NULL THEN 'not fitted yet' WHEN NOT s.is_told THEN 'the last activity has no loads yet' ELSE r.reason END, r.form_is_difference) f;

-- Comments, last changed by 0033_form_by_day
COMMENT ON VIEW training.form_today IS 'Derived: training load, recovery load and form at this moment: what the service told with the last activity, and what is left of that by the rule and the constants of form_constants. The service does not tell these numbers. form_now has those that it told.';
COMMENT ON COLUMN training.form_today.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_today.day IS 'Today, see today';
COMMENT ON COLUMN training.form_today.at IS 'Now';
COMMENT ON COLUMN training.form_today.activity_id IS 'Activity from which these loads follow, the last one until then, see activities';
COMMENT ON COLUMN training.form_today.tl_low IS 'Derived: low training load; unit not told by the service';
COMMENT ON COLUMN training.form_today.tl_high IS 'Derived: high training load; unit not told by the service';
COMMENT ON COLUMN training.form_today.tl_peak IS 'Derived: peak training load; unit not told by the service';
COMMENT ON COLUMN training.form_today.tl_total IS 'Derived: tl_low + tl_high + tl_peak; unit not told by the service';
COMMENT ON COLUMN training.form_today.rl_low IS 'Derived: low recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_today.rl_high IS 'Derived: high recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_today.rl_peak IS 'Derived: peak recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_today.rl_total IS 'Derived: rl_low + rl_high + rl_peak; unit not told by the service';
COMMENT ON COLUMN training.form_today.form IS 'Derived: tl_total - rl_total; unit not told by the service';
COMMENT ON COLUMN training.form_today.reason IS 'Why the numbers are NULL: "not fitted yet", "fewer than eleven activities have loads" or "the loads follow no rule" (see form_constants), "the last activity has no loads yet", "the told form is not the difference of the loads" (only form is NULL); NULL where they stand';
COMMENT ON COLUMN training.form_today.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.form_today SET (security_invoker=true);
GRANT SELECT ON training.form_today TO musette_one_account, musette_reader;
