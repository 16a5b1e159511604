-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE VIEW training.form_by_day AS
SELECT t.account_id, d.day, d.at, d.activity_id, d.tl_low, d.tl_high, d.tl_peak, d.tl_total, d.rl_low, d.rl_high, d.rl_peak, d.rl_total,
  d.form, d.reason, t.account
FROM training.today t
LEFT JOIN LATERAL (SELECT * FROM musette.form_rules(t.account_id) OFFSET 0) r ON true
CROSS JOIN LATERAL (
  SELECT each.day, each.at, s.activity_id, f.*
  FROM (SELECT * FROM musette.form_steps(t.account_id) s WHERE s.day < t.day OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT musette.held(s.tl, r.gain, s.xss, r.convention) AS tl, musette.held(s.rl, r.recovery_gain, s.xss, r.convention) AS rl,
      CASE r.convention WHEN 'before' THEN s.xss ELSE s.next_xss END AS score, extract(epoch FROM s.next_at - s.started_at)::float8 / 86400 AS days
    OFFSET 0
  ) held
  CROSS JOIN LATERAL (
    SELECT CASE WHEN r.convention IS NULL THEN 'not fitted yet' WHEN r.reason IS NOT NULL THEN r.reason WHEN NOT s.is_told THEN 'the last activity has no loads yet'
      WHEN s.next_is_told AND NOT (
        musette.follows(s.tl, s.next_tl, held.score, held.days, NULL, r.tau, r.gain, r.tolerance, r.convention)
        AND musette.follows(s.rl, s.next_rl, held.score, held.days,
          CASE r.convention WHEN 'before' THEN s.next_tl ELSE musette.with_impulse(s.next_tl, r.gain, s.next_xss, -1) END,
          r.recovery_tau, r.recovery_gain, r.recovery_tolerance, r.convention)) THEN 'the next activity does not follow from the last' END AS reason
    OFFSET 0
  ) why
  CROSS JOIN LATERAL generate_series(greatest('1970-01-01' - s.day, 0), least(s.next_day, t.day) - s.day - 1) AS n
  CROSS JOIN LATERAL (
    SELECT s.day + n AS day, least(greatest(training.start_of_day(s.day + n + 1, t.timezone), s.started_at), s.next_at) AS at OFFSET 0
  ) each
  CROSS JOIN LATERAL musette.form_row(
    musette.loads_after(held.tl, held.rl, extract(epoch FROM each.at - s.started_at)::float8 / 86400, r.tau, r.recovery_tau),
    why.reason, r.form_is_difference) f
  UNION ALL
  SELECT n.day, n.at, n.activity_id, n.tl_low, n.tl_high, n.tl_peak, n.tl_total, n.rl_low, n.rl_high, n.rl_peak, n.rl_total, n.form, n.reason
  FROM training.form_today n WHERE n.account_id = t.account_id
) d;

-- Comments, last changed by 0033_form_by_day
COMMENT ON VIEW training.form_by_day IS 'Derived: training load, recovery load and form of every day, also of those without an activity, from the first activity, and 1970 at the earliest, to today: what the service told with the last activity, and what is left of that at the end of the day by the rule and the constants of form_constants. form_history has the numbers that the service told with each activity.';
COMMENT ON COLUMN training.form_by_day.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_by_day.day IS 'Day of the rider: it has the activities that started on it by their own clock';
COMMENT ON COLUMN training.form_by_day.at IS 'The moment of the numbers: the end of the day, see start_of_day(), never after the next activity; today: now';
COMMENT ON COLUMN training.form_by_day.activity_id IS 'Activity from which these loads follow, the last one until then, see activities';
COMMENT ON COLUMN training.form_by_day.tl_low IS 'Derived: low training load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.tl_high IS 'Derived: high training load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.tl_peak IS 'Derived: peak training load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.tl_total IS 'Derived: tl_low + tl_high + tl_peak; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.rl_low IS 'Derived: low recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.rl_high IS 'Derived: high recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.rl_peak IS 'Derived: peak recovery load; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.rl_total IS 'Derived: rl_low + rl_high + rl_peak; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.form IS 'Derived: tl_total - rl_total; unit not told by the service';
COMMENT ON COLUMN training.form_by_day.reason IS 'Why the numbers are NULL: "not fitted yet", "fewer than eleven activities have loads" or "the loads follow no rule" (see form_constants), "the last activity has no loads yet", "the next activity does not follow from the last" (as where the service has locked an activity or has recalculated a part), "the told form is not the difference of the loads" (only form is NULL); NULL where they stand';
COMMENT ON COLUMN training.form_by_day.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.form_by_day SET (security_invoker=true);
GRANT SELECT ON training.form_by_day TO musette_one_account, musette_reader;
