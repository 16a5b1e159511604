-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION training.form_on(day date, plan jsonb DEFAULT '[]', of_account integer DEFAULT NULL) RETURNS TABLE (account_id integer, at timestamptz,
  tl_low double precision, tl_high double precision, tl_peak double precision, tl_total double precision, rl_low double precision,
  rl_high double precision, rl_peak double precision, rl_total double precision, form double precision, reason text, account text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  WITH RECURSIVE planned AS (
    SELECT n.account_id, p.low, p.high, p.peak, e.at, row_number() OVER (PARTITION BY n.account_id ORDER BY e.at) AS number
    FROM training.form_today n
    JOIN training.today t ON t.account_id = n.account_id
    CROSS JOIN jsonb_to_recordset(plan) AS p (day date, low double precision, high double precision, peak double precision)
    CROSS JOIN LATERAL (SELECT greatest(training.start_of_day(p.day, t.timezone) + interval '12 hours', n.at) AS at) e
    WHERE p.day >= n.day AND p.day <= form_on.day AND (of_account IS NULL OR n.account_id = of_account)
  ), step AS (
    SELECT n.account_id, part.place, part.system, n.at, part.tl, part.rl, coalesce(t.tau_days, 1) AS tau, t.gain, coalesce(r.tau_days, 1) AS recovery_tau,
      r.gain AS recovery_gain, 0::bigint AS number
    FROM training.form_today n
    CROSS JOIN LATERAL (VALUES (1, 'low', n.tl_low, n.rl_low), (2, 'high', n.tl_high, n.rl_high), (3, 'peak', n.tl_peak, n.rl_peak))
      AS part (place, system, tl, rl)
    LEFT JOIN training.form_constants t ON t.account_id = n.account_id AND t.system = part.system AND t.load = 'training'
    LEFT JOIN training.form_constants r ON r.account_id = n.account_id AND r.system = part.system AND r.load = 'recovery'
    WHERE of_account IS NULL OR n.account_id = of_account
    UNION ALL
    SELECT s.account_id, s.place, s.system, p.at, musette.fade(s.tl, d.days, s.tau) + CASE d.score WHEN 0 THEN 0 ELSE s.gain * d.score END,
      musette.fade_recovery(s.rl, s.tl, d.days, s.recovery_tau, s.tau) + CASE d.score WHEN 0 THEN 0 ELSE s.recovery_gain * d.score END,
      s.tau, s.gain, s.recovery_tau, s.recovery_gain, p.number
    FROM step s
    JOIN planned p ON p.account_id = s.account_id AND p.number = s.number + 1
    CROSS JOIN LATERAL (SELECT extract(epoch FROM p.at - s.at)::double precision / 86400 AS days,
      coalesce(CASE s.system WHEN 'low' THEN p.low WHEN 'high' THEN p.high ELSE p.peak END, 0) AS score) d
  )
  SELECT n.account_id, e.at, f.tl_low, f.tl_high, f.tl_peak, f.tl_total, f.rl_low, f.rl_high, f.rl_peak, f.rl_total, f.form, f.reason, n.account
  FROM training.form_today n
  JOIN training.today t ON t.account_id = n.account_id
  CROSS JOIN LATERAL (SELECT training.start_of_day(form_on.day + 1, t.timezone) AS at) e
  CROSS JOIN LATERAL (
    SELECT array_agg(musette.fade(s.tl, d.days, s.tau) ORDER BY s.place)
      || array_agg(musette.fade_recovery(s.rl, s.tl, d.days, s.recovery_tau, s.tau) ORDER BY s.place) AS loads
    FROM step s
    CROSS JOIN LATERAL (SELECT extract(epoch FROM e.at - s.at)::double precision / 86400 AS days) d
    WHERE s.account_id = n.account_id AND s.number = (SELECT coalesce(max(p.number), 0) FROM planned p WHERE p.account_id = n.account_id)
  ) l
  CROSS JOIN LATERAL musette.form_row(l.loads, CASE WHEN n.reason <> 'the told form is not the difference of the loads' THEN n.reason WHEN form_on.day < n.day THEN 'the day is over'
    WHEN l.loads && '{NaN,Infinity,-Infinity}' THEN 'a score of the plan is no number' WHEN array_position(l.loads, NULL) IS NOT NULL THEN 'this load has always been 0' END, n.reason IS DISTINCT FROM 'the told form is not the difference of the loads') f
  WHERE form_on.day IS NOT NULL AND (of_account IS NULL OR n.account_id = of_account);
END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION training.form_on(date,jsonb,integer) IS 'Derived: the loads and the form of each account, or of the one with the account_id of_account, at the end of a day to come, see form_by_day for the columns, when what is planned is done and nothing else. plan is a list of the scores of days, [{"day": "2030-05-01", "low": 60, "high": 4, "peak": 0.5}, …], by default empty; a missing score is 0, and days before today or after the day do not count. Each begins at noon, today not before now. reason is as in form_by_day, "the day is over" for a day before today, "a score of the plan is no number" for NaN or Infinity, and "this load has always been 0" for a score in such a system. planned_load has what the service plans.';
