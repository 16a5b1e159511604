-- How training and recovery load change between activities, fitted to what the service told of each, and with that the form of every day.
CREATE TABLE training.form_constants (
  account_id integer NOT NULL,
  load text NOT NULL,
  system text NOT NULL,
  tau_days double precision,
  gain double precision,
  residual double precision,
  tolerance double precision,
  activities_used integer NOT NULL,
  activities_known integer NOT NULL,
  convention text,
  form_is_difference boolean,
  reason text,
  fitted_at timestamptz NOT NULL,
  inputs text NOT NULL,
  CONSTRAINT form_constants_account_id_load_system_pk PRIMARY KEY (account_id, load, system),
  CONSTRAINT form_constants_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.form_constants IS 'Derived: the constants of an account by which its training and recovery load change, fitted to the loads that the service told with the activities; six rows an account. A load gets score * gain at the start of each activity and falls by exp(-days / tau_days); a recovery load is at least training load * exp(-1 / tau_days). The service does not tell these constants. They are fitted anew when such a value of an activity changes.';
COMMENT ON COLUMN training.form_constants.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_constants.load IS 'training or recovery';
COMMENT ON COLUMN training.form_constants.system IS 'low, high or peak: the part of the load, tl_ftp, tl_hie or tl_pp in activities, with the score xlss, xhss or xpss';
COMMENT ON COLUMN training.form_constants.tau_days IS 'Derived: days in which the load falls to 37 % (1 / e) without an activity; NULL where nothing fits';
COMMENT ON COLUMN training.form_constants.gain IS 'Derived: what the load gets for a score of 1, no unit; NULL where nothing fits';
COMMENT ON COLUMN training.form_constants.residual IS 'Derived: root of the mean squared difference between the load that follows from the activity before and the told one, of activities_used; unit not told by the service';
COMMENT ON COLUMN training.form_constants.tolerance IS 'Derived: a told load that differs by more from what follows from the activity before does not follow the rule, see form_by_day; unit not told by the service';
COMMENT ON COLUMN training.form_constants.activities_used IS 'Derived: number of activities whose load follows from the one before, of which tau_days and gain are fitted';
COMMENT ON COLUMN training.form_constants.activities_known IS 'Derived: number of activities, at most the newest 1,000, whose load and that of the one before are known';
COMMENT ON COLUMN training.form_constants.convention IS 'Derived: which load the service tells with an activity: before its start, or after it; what has the smaller residual';
COMMENT ON COLUMN training.form_constants.form_is_difference IS 'Derived: whether the told form of most activities is their training load minus their recovery load';
COMMENT ON COLUMN training.form_constants.reason IS 'Why there are no constants: "fewer than eleven activities have loads", "this load has always been 0", or "the loads follow no rule" (more than half do not, or the residual is more than 2 % of the load); NULL where they fit';
COMMENT ON COLUMN training.form_constants.fitted_at IS 'When they were fitted';
COMMENT ON COLUMN training.form_constants.inputs IS 'Hash of the values that they were fitted to';
--> statement-breakpoint
CREATE FUNCTION musette.fade(load double precision, days double precision, tau_days double precision) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  -- More would be an underflow, which Postgres reports as an error.
  RETURN load * exp(-least(greatest(days, 0) / tau_days, 50));
COMMENT ON FUNCTION musette.fade(double precision, double precision, double precision) IS 'What is left of a load after some days without an activity.';
--> statement-breakpoint
CREATE FUNCTION musette.fade_recovery(load double precision, training double precision, days double precision, tau_days double precision,
  training_tau_days double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN greatest(musette.fade(load, days, tau_days), musette.fade(musette.fade(training, days, training_tau_days), 1, tau_days));
COMMENT ON FUNCTION musette.fade_recovery(double precision, double precision, double precision, double precision, double precision) IS 'What is left of a recovery load after some days without an activity, at least its share of the training load.';
--> statement-breakpoint
CREATE FUNCTION musette.form_steps(account integer) RETURNS TABLE (activity_id integer, started_at timestamptz, day date, is_told boolean,
  tl double precision[], rl double precision[], xss double precision[], form double precision, next_at timestamptz, next_day date,
  next_is_told boolean, next_tl double precision[], next_rl double precision[], next_xss double precision[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT v.activity_id, v.started_at, v.day, v.is_told, v.tl, v.rl, v.xss, v.form,
  lead(v.started_at) OVER later AS next_at, lead(v.day) OVER later AS next_day, lead(v.is_told) OVER later AS next_is_told,
  lead(v.tl) OVER later AS next_tl, lead(v.rl) OVER later AS next_rl, lead(v.xss) OVER later AS next_xss
FROM (
  SELECT activity_id, started_at, max(started_at_local::date) OVER earlier AS day,
    num_nulls(tl_ftp, tl_hie, tl_pp, rl_ftp, rl_hie, rl_pp, xlss, xhss, xpss) = 0 AS is_told,
    ARRAY[tl_ftp, tl_hie, tl_pp] AS tl, ARRAY[rl_ftp, rl_hie, rl_pp] AS rl, ARRAY[xlss, xhss, xpss] AS xss, form
  FROM training.activities
  WHERE account_id = account AND absent_since IS NULL AND isfinite(started_at) AND isfinite(started_at_local)
    -- One that is fetched and has neither load nor score changes no load.
    AND (detail_state <> 'mirrored' OR num_nonnulls(tl_ftp, rl_ftp, xss) > 0)
  WINDOW earlier AS (ORDER BY started_at, activity_id)
) v
WINDOW later AS (ORDER BY v.started_at, v.activity_id);
END;
COMMENT ON FUNCTION musette.form_steps(integer) IS 'Each activity of an account that changes the loads, with the next one: day never goes back, is_told says whether loads and scores are all known, and the arrays have low, high and peak. A function, because a reader of one account reads with rights of its own, and none in this schema.';
--> statement-breakpoint
CREATE FUNCTION musette.next_load(load double precision, score double precision, days double precision, training double precision,
  tau_days double precision, gain double precision, convention text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE convention
    WHEN 'before' THEN greatest(musette.fade(load + gain * score, days, tau_days), musette.fade(training, 1, tau_days))
    ELSE greatest(musette.fade(load, days, tau_days), musette.fade(training, 1, tau_days)) + gain * score END;
COMMENT ON FUNCTION musette.next_load(double precision, double precision, double precision, double precision, double precision, double precision, text) IS 'The load that the next activity tells: score is that of the activity whose impulse lies between, which is the next one where loads are told after it; training is the training load at the start of the next one for a recovery load, NULL for a training load.';
--> statement-breakpoint
CREATE FUNCTION musette.fit_load(y0 double precision[], y1 double precision[], score double precision[], days double precision[],
  training double precision[], convention text, OUT tau double precision, OUT gain double precision, OUT residual double precision,
  OUT tolerance double precision, OUT used integer, OUT middle double precision, OUT size double precision)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  sample jsonb;
  try record;
  sums record;
  step float8;
BEGIN
  size := (SELECT avg(abs(y)) FROM unnest(y1) y);
  -- A rough search by medians, which the rows that do not follow the rule hardly move: some 200 rows, tau from ten hours to a year.
  FOR try IN
    SELECT t.tau, coalesce(g.gain, 0) AS gain, m.middle
    FROM (
      SELECT array_agg(u.y0) AS y0, array_agg(u.y1) AS y1, array_agg(u.score) AS score, array_agg(u.days) AS days,
        array_agg(u.training) AS training
      FROM unnest(y0, y1, score, days, training) WITH ORDINALITY AS u (y0, y1, score, days, training, n)
      WHERE n % greatest(cardinality(fit_load.y0) / 200, 1) = 0
    ) s
    CROSS JOIN (SELECT 0.4 * 1.25 ^ n AS tau FROM generate_series(0, 30) AS n) t
    CROSS JOIN LATERAL (
      SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE convention
        WHEN 'before' THEN (u.y1 / musette.fade(1, u.days, t.tau) - u.y0) / u.score
        ELSE (u.y1 - musette.next_load(u.y0, 0, u.days, u.training, t.tau, 0, convention)) / u.score END) AS gain
      FROM unnest(s.y0, s.y1, s.score, s.days, s.training) AS u (y0, y1, score, days, training)
      -- At its least share of the training load a recovery load does not show its impulse.
      WHERE u.score > 0 AND (convention = 'after' OR u.training IS NULL OR u.y1 > musette.fade(u.training, 1, t.tau) * 1.0001)
    ) g
    CROSS JOIN LATERAL (
      SELECT percentile_cont(0.5) WITHIN GROUP (
        ORDER BY abs(musette.next_load(u.y0, u.score, u.days, u.training, t.tau, coalesce(g.gain, 0), convention) - u.y1)) AS middle
      FROM unnest(s.y0, s.y1, s.score, s.days, s.training) AS u (y0, y1, score, days, training)
    ) m
    ORDER BY m.middle, t.tau LIMIT 1
  LOOP
    tau := try.tau;
    gain := try.gain;
    middle := try.middle;
  END LOOP;
  -- Then least squares (Gauss-Newton) of the rows that are as near as most.
  FOR n IN 1..15 LOOP
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(musette.next_load(u.y0, u.score, u.days, u.training, tau, gain, convention) - u.y1))
    INTO middle FROM unnest(y0, y1, score, days, training) AS u (y0, y1, score, days, training);
    -- Five standard deviations of a normal distribution with this median.
    tolerance := greatest(7.4 * middle, size / 10000);
    SELECT count(*) AS used, sum(d * d) AS dd, sum(d * jt) AS dt, sum(d * jg) AS dg, sum(jt * jt) AS tt, sum(jt * jg) AS tg,
      sum(jg * jg) AS gg
    INTO sums
    FROM (
      SELECT u.y1 - musette.next_load(u.y0, u.score, u.days, u.training, tau, gain, convention) AS d,
        CASE WHEN c.lowest THEN f.least / tau WHEN convention = 'before' THEN f.faded * (u.y0 + gain * u.score) * u.days / tau
          ELSE f.faded * u.y0 * u.days / tau END AS jt,
        CASE WHEN convention = 'after' THEN u.score WHEN c.lowest THEN 0 ELSE f.faded * u.score END AS jg
      FROM unnest(y0, y1, score, days, training) AS u (y0, y1, score, days, training)
      CROSS JOIN LATERAL (SELECT musette.fade(1, u.days, tau) AS faded, coalesce(musette.fade(u.training, 1, tau), '-infinity') AS least) f
      CROSS JOIN LATERAL (
        SELECT f.least > f.faded * (u.y0 + CASE convention WHEN 'before' THEN gain * u.score ELSE 0 END) AS lowest
      ) c
    ) each
    WHERE abs(d) <= tolerance;
    used := sums.used;
    residual := sqrt(sums.dd / nullif(sums.used, 0));
    step := CASE WHEN sums.gg > 0
      THEN (sums.dt * sums.gg - sums.dg * sums.tg) / nullif(sums.tt * sums.gg - sums.tg * sums.tg, 0)
      ELSE sums.dt / nullif(sums.tt, 0) END;
    EXIT WHEN step IS NULL OR abs(step) < 1e-6 OR n = 15;
    step := greatest(least(step, 0.3), -0.3);
    gain := gain + CASE WHEN sums.gg > 0 THEN (sums.dg - sums.tg * step) / sums.gg ELSE 0 END;
    tau := least(greatest(tau * exp(step), 0.1), 1000);
  END LOOP;
  tolerance := greatest(tolerance, 0.05);
END
$$;
COMMENT ON FUNCTION musette.fit_load(double precision[], double precision[], double precision[], double precision[], double precision[], text) IS 'Fits tau and gain of one load to its values y0 and y1 of neighbouring activities, see next_load(). middle is the median of the differences, size the mean of the loads.';
--> statement-breakpoint
CREATE FUNCTION musette.fit_form(account integer) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  about record;
  part record;
  of_training record;
  of_recovery record;
  way text;
  score float8[];
  nothing float8[];
  lowest float8[];
BEGIN
  SELECT count(*) FILTER (WHERE next_is_told)::integer AS known,
    coalesce(md5(array_agg((started_at, tl, rl, xss, form, next_at, next_is_told) ORDER BY started_at, activity_id)::text), '') AS hash,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(form - (tl[1] + tl[2] + tl[3] - rl[1] - rl[2] - rl[3]))) <= 0.05 AS is_difference
  INTO about FROM musette.form_steps(account) s WHERE is_told;
  IF EXISTS (SELECT FROM training.form_constants c WHERE c.account_id = account AND c.inputs = about.hash) THEN
    RETURN false;
  END IF;
  FOR part IN
    SELECT k, array_agg(s.tl[k]) AS tl0, array_agg(s.next_tl[k]) AS tl1, array_agg(s.rl[k]) AS rl0, array_agg(s.next_rl[k]) AS rl1,
      array_agg(s.xss[k]) AS score0, array_agg(s.next_xss[k]) AS score1,
      array_agg(extract(epoch FROM s.next_at - s.started_at)::float8 / 86400) AS days
    FROM generate_series(1, 3) AS k
    LEFT JOIN (
      SELECT * FROM musette.form_steps(account) WHERE is_told AND next_is_told
      ORDER BY started_at DESC, activity_id DESC LIMIT 1000
    ) s ON true
    GROUP BY k ORDER BY k
  LOOP
    nothing := array_fill(NULL::float8, ARRAY[cardinality(part.tl0)]);
    -- The low load, of which every activity has some, shows whether loads are told before or after an activity.
    way := coalesce(way, CASE WHEN (musette.fit_load(part.tl0, part.tl1, part.score0, part.days, nothing, 'before')).middle
      <= (musette.fit_load(part.tl0, part.tl1, part.score1, part.days, nothing, 'after')).middle THEN 'before' ELSE 'after' END);
    score := CASE way WHEN 'before' THEN part.score0 ELSE part.score1 END;
    of_training := musette.fit_load(part.tl0, part.tl1, score, part.days, nothing, way);
    lowest := CASE way WHEN 'before' THEN part.tl1
      ELSE (SELECT array_agg(u.tl - of_training.gain * u.score) FROM unnest(part.tl1, score) AS u (tl, score)) END;
    of_recovery := musette.fit_load(part.rl0, part.rl1, score, part.days, lowest, way);
    INSERT INTO training.form_constants AS c (account_id, load, system, tau_days, gain, residual, tolerance, activities_used,
      activities_known, convention, form_is_difference, reason, fitted_at, inputs)
    SELECT account, f.load, ('{low,high,peak}'::text[])[part.k], fits.tau, fits.gain, f.residual, fits.tolerance, f.used,
      least(about.known, 1000), way, about.is_difference, why.reason, clock_timestamp(), about.hash
    FROM (VALUES ('training', of_training.tau, of_training.gain, of_training.residual, of_training.tolerance, of_training.used, of_training.size),
      ('recovery', of_recovery.tau, of_recovery.gain, of_recovery.residual, of_recovery.tolerance, of_recovery.used, of_recovery.size))
      AS f (load, tau, gain, residual, tolerance, used, size)
    CROSS JOIN LATERAL (SELECT CASE WHEN about.known < 10 THEN 'fewer than eleven activities have loads' WHEN f.size = 0 THEN 'this load has always been 0'
      WHEN f.used * 2 < least(about.known, 1000) OR f.residual > 0.02 + 0.02 * f.size OR f.residual IS NULL THEN 'the loads follow no rule' END AS reason) why
    LEFT JOIN LATERAL (SELECT f.tau, f.gain, f.tolerance WHERE why.reason IS NULL) fits ON true
    ON CONFLICT (account_id, load, system) DO UPDATE SET tau_days = excluded.tau_days, gain = excluded.gain,
      residual = excluded.residual, tolerance = excluded.tolerance, activities_used = excluded.activities_used,
      activities_known = excluded.activities_known, convention = excluded.convention, form_is_difference = excluded.form_is_difference,
      reason = excluded.reason, fitted_at = excluded.fitted_at, inputs = excluded.inputs;
  END LOOP;
  RETURN true;
END
$$;
COMMENT ON FUNCTION musette.fit_form(integer) IS 'Fits form_constants of an account anew, unless they are fitted to the present values of its activities. Returns whether it did.';
--> statement-breakpoint
CREATE FUNCTION musette.form_rules(account integer) RETURNS TABLE (convention text, form_is_difference boolean, reason text,
  tau double precision[], gain double precision[], tolerance double precision[], recovery_tau double precision[],
  recovery_gain double precision[], recovery_tolerance double precision[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT min(convention) AS convention, bool_and(form_is_difference) AS form_is_difference,
  min(reason) FILTER (WHERE reason <> 'this load has always been 0') AS reason,
  array_agg(coalesce(tau_days, 1) ORDER BY place) FILTER (WHERE load = 'training') AS tau,
  array_agg(coalesce(gain, 0) ORDER BY place) FILTER (WHERE load = 'training') AS gain,
  array_agg(coalesce(tolerance, 0) ORDER BY place) FILTER (WHERE load = 'training') AS tolerance,
  array_agg(coalesce(tau_days, 1) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_tau,
  array_agg(coalesce(gain, 0) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_gain,
  array_agg(coalesce(tolerance, 0) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_tolerance
FROM training.form_constants
CROSS JOIN LATERAL (SELECT array_position('{low,high,peak}'::text[], system)) AS s (place)
WHERE account_id = account GROUP BY account_id;
END;
COMMENT ON FUNCTION musette.form_rules(integer) IS 'The constants of an account in one row, as arrays of low, high and peak; of a load that is always 0 what leaves it there.';
--> statement-breakpoint
CREATE FUNCTION musette.with_impulse(load double precision[], gain double precision[], score double precision[], times integer DEFAULT 1)
  RETURNS double precision[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY[load[1] + times * gain[1] * score[1], load[2] + times * gain[2] * score[2], load[3] + times * gain[3] * score[3]];
COMMENT ON FUNCTION musette.with_impulse(double precision[], double precision[], double precision[], integer) IS 'Loads with so many times the impulse of an activity.';
--> statement-breakpoint
CREATE FUNCTION musette.held(load double precision[], gain double precision[], score double precision[], convention text) RETURNS double precision[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE convention WHEN 'before' THEN musette.with_impulse(load, gain, score) ELSE load END;
COMMENT ON FUNCTION musette.held(double precision[], double precision[], double precision[], text) IS 'Loads at once after the start of an activity that told them.';
--> statement-breakpoint
CREATE FUNCTION musette.loads_after(tl double precision[], rl double precision[], days double precision, tau double precision[],
  recovery_tau double precision[]) RETURNS double precision[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY[musette.fade(tl[1], days, tau[1]), musette.fade(tl[2], days, tau[2]), musette.fade(tl[3], days, tau[3]),
    musette.fade_recovery(rl[1], tl[1], days, recovery_tau[1], tau[1]), musette.fade_recovery(rl[2], tl[2], days, recovery_tau[2], tau[2]),
    musette.fade_recovery(rl[3], tl[3], days, recovery_tau[3], tau[3])];
COMMENT ON FUNCTION musette.loads_after(double precision[], double precision[], double precision, double precision[], double precision[]) IS 'The three training and then the three recovery loads after some days without an activity.';
--> statement-breakpoint
CREATE FUNCTION musette.follows(load double precision[], next double precision[], score double precision[], days double precision,
  training double precision[], tau double precision[], gain double precision[], tolerance double precision[], convention text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN abs(musette.next_load(load[1], score[1], days, training[1], tau[1], gain[1], convention) - next[1]) <= tolerance[1]
    AND abs(musette.next_load(load[2], score[2], days, training[2], tau[2], gain[2], convention) - next[2]) <= tolerance[2]
    AND abs(musette.next_load(load[3], score[3], days, training[3], tau[3], gain[3], convention) - next[3]) <= tolerance[3];
COMMENT ON FUNCTION musette.follows(double precision[], double precision[], double precision[], double precision, double precision[], double precision[], double precision[], double precision[], text) IS 'Whether the loads of the next activity follow from those of this one.';
--> statement-breakpoint
CREATE FUNCTION musette.form_row(loads double precision[], why text, is_difference boolean) RETURNS TABLE (tl_low double precision,
  tl_high double precision, tl_peak double precision, tl_total double precision, rl_low double precision, rl_high double precision,
  rl_peak double precision, rl_total double precision, form double precision, reason text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT a.l[1], a.l[2], a.l[3], a.l[1] + a.l[2] + a.l[3], a.l[4], a.l[5], a.l[6], a.l[4] + a.l[5] + a.l[6],
    CASE WHEN is_difference THEN a.l[1] + a.l[2] + a.l[3] - a.l[4] - a.l[5] - a.l[6] END,
    coalesce(why, CASE WHEN is_difference THEN NULL ELSE 'the told form is not the difference of the loads' END)
  FROM (SELECT CASE WHEN why IS NULL THEN loads END OFFSET 0) AS a (l);
END;
COMMENT ON FUNCTION musette.form_row(double precision[], text, boolean) IS 'The columns of loads and form, NULL with a reason.';
--> statement-breakpoint
CREATE VIEW training.form_today AS
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
--> statement-breakpoint
CREATE VIEW training.form_by_day AS
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
--> statement-breakpoint
CREATE FUNCTION musette.number(word text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN word ~ '^-?[0-9]{1,12}([.][0-9]{1,30})?$' THEN word::double precision END;
COMMENT ON FUNCTION musette.number(text) IS 'A number that was sent as such or as a text; NULL for anything else.';
--> statement-breakpoint
CREATE FUNCTION training.form_on(day date, plan jsonb DEFAULT '[]', of_account integer DEFAULT NULL) RETURNS TABLE (account_id integer, at timestamptz,
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
COMMENT ON FUNCTION training.form_on(date, jsonb, integer) IS 'Derived: the loads and the form of each account, or of the one with the account_id of_account, at the end of a day to come, see form_by_day for the columns, when what is planned is done and nothing else. plan is a list of the scores of days, [{"day": "2030-05-01", "low": 60, "high": 4, "peak": 0.5}, …], by default empty; a missing score is 0, and days before today or after the day do not count. Each begins at noon, today not before now. reason is as in form_by_day, "the day is over" for a day before today, "a score of the plan is no number" for NaN or Infinity, and "this load has always been 0" for a score in such a system. planned_load has what the service plans.';
--> statement-breakpoint
CREATE VIEW training.planned_load AS
SELECT t.account_id, p.day, p.low, p.high, p.peak, p.source, t.account
FROM training.today t
CROSS JOIN LATERAL (
  SELECT t.day + n AS day, CASE WHEN c.is_workout THEN w.low ELSE r.low_xss END AS low,
    CASE WHEN c.is_workout THEN w.high ELSE r.high_xss END AS high, CASE WHEN c.is_workout THEN w.peak ELSE r.peak_xss END AS peak,
    CASE WHEN c.is_workout THEN 'workout' ELSE 'recommended' END AS source
  FROM (
    SELECT r.low_xss, r.high_xss, r.peak_xss FROM training.recommended_load r WHERE r.account_id = t.account_id AND r.day = t.day OFFSET 0
  ) r
  LEFT JOIN LATERAL (
    SELECT musette.number(w.raw ->> 'xlss') AS low, musette.number(w.raw ->> 'xhss') AS high, musette.number(w.raw ->> 'xpss') AS peak
    FROM (SELECT i.wotd_workout_id FROM training.training_info i WHERE i.account_id = t.account_id ORDER BY i.observed_at DESC LIMIT 1) i
    CROSS JOIN LATERAL (
      (SELECT o.raw FROM training.workouts o WHERE o.account_id = t.account_id AND o.path = i.wotd_workout_id AND o.absent_since IS NULL)
      UNION ALL
      (SELECT o.raw FROM training.workouts o WHERE o.account_id IS NULL AND o.path = i.wotd_workout_id AND o.absent_since IS NULL
        AND o.base_url = (SELECT a.base_url FROM training.accounts a WHERE a.account_id = t.account_id))
      LIMIT 1
    ) w
  ) w ON true
  CROSS JOIN generate_series(0, 27) AS n
  CROSS JOIN LATERAL (SELECT n = 0 AND num_nulls(w.low, w.high, w.peak) = 0 AS is_workout OFFSET 0) c
  WHERE n > 0 OR NOT EXISTS (
    SELECT FROM training.activities v WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at_local >= t.day
      AND v.started_at_local < t.day + 1 AND v.started_at >= training.start_of_day(t.day - 1, 'UTC')
  )
  OFFSET 0
) p;
COMMENT ON VIEW training.planned_load IS 'Derived: what four weeks bring when the rider follows the service: today, while there is no activity, its workout of the day, where the workout list has the scores of that, else what it recommends for today; and on each later day what it recommends for today, because it tells nothing of later days. A plan for form_on().';
COMMENT ON COLUMN training.planned_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.planned_load.day IS 'Day, from today on';
COMMENT ON COLUMN training.planned_load.low IS 'Low training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.high IS 'High training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.peak IS 'Peak training load score; unit not told by the service';
COMMENT ON COLUMN training.planned_load.source IS 'workout (the workout of the day) or recommended (see recommended_load)';
COMMENT ON COLUMN training.planned_load.account IS 'Name of the account';
--> statement-breakpoint
CREATE FUNCTION musette.flag(word text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN word IN ('true', '1') THEN true WHEN word IN ('false', '0') THEN false END;
COMMENT ON FUNCTION musette.flag(text) IS 'Yes or no as JSON has it; NULL for anything else.';
--> statement-breakpoint
-- Computed while the table is written anew, which needs no second version of each row and fires no trigger.
ALTER TABLE training.activities
  ADD COLUMN near_breakthrough boolean GENERATED ALWAYS AS (breakthrough = -1) STORED,
  ADD COLUMN sig_manual boolean GENERATED ALWAYS AS (musette.flag(summary #>> '{sig,manual}')) STORED,
  ADD COLUMN sig_error text GENERATED ALWAYS AS (nullif(nullif(summary #>> '{sig,error}', ''), 'false')) STORED;
--> statement-breakpoint
ALTER TABLE training.activities ALTER COLUMN near_breakthrough DROP EXPRESSION, ALTER COLUMN sig_manual DROP EXPRESSION,
  ALTER COLUMN sig_error DROP EXPRESSION;
COMMENT ON COLUMN training.activities.breakthrough IS 'Breakthrough, a whole number of the service; 0 and NULL are none, -1 is a near one, see near_breakthrough';
COMMENT ON COLUMN training.activities.near_breakthrough IS 'Whether the activity came near a breakthrough, which the service says with a breakthrough of -1; NULL where it tells no breakthrough';
COMMENT ON COLUMN training.activities.sig_manual IS 'Whether the rider set the signature of the activity at the service, sig.manual of its summary or list entry; NULL where the service does not say';
COMMENT ON COLUMN training.activities.sig_error IS 'What the service says of a signature that it only guessed, sig.error of the summary or list entry, such as "No BT yet. Using first signature"; NULL without such words';
CREATE FUNCTION musette.set_signature_notes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.near_breakthrough := NEW.breakthrough = -1;
  NEW.sig_manual := coalesce(musette.flag(NEW.summary #>> '{sig,manual}'), musette.flag(NEW.list_fields ->> 'sig_manual'));
  NEW.sig_error := nullif(nullif(coalesce(NEW.summary #>> '{sig,error}', NEW.list_fields ->> 'sig_error'), ''), 'false');
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION musette.set_signature_notes() IS 'Derives what the service says of the signature of an activity from its summary, else its list entry.';
CREATE TRIGGER set_signature_notes
  BEFORE INSERT OR UPDATE OF breakthrough, summary, list_fields, near_breakthrough, sig_manual, sig_error ON training.activities
  FOR EACH ROW EXECUTE FUNCTION musette.set_signature_notes();
CREATE OR REPLACE FUNCTION musette.content(activity training.activities) RETURNS jsonb LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT to_jsonb(activity) - '{summary,detail_state,first_seen_at,updated_at,listed_at,fetched_at,verified_at,wanted_at,list_fields,detail_fields,next_fetch_at,fetch_attempts,fetch_error,stray_samples,recorded_from,sport,near_breakthrough}'::text[]
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW training.recalculations AS
SELECT t.account_id, training.local_day(pass.observed_from, t.timezone) AS day_observed, pass.activities,
  pass.xss_before, pass.xss_after, pass.xss_change, pass.ftp_before, pass.ftp_after, pass.first_ride, pass.last_ride,
  pass.observed_from, pass.observed_to, t.account, pass.first_activity_id,
  (SELECT count(*) FROM training.activities v WHERE v.account_id = t.account_id AND v.absent_since IS NULL
    AND v.started_at BETWEEN pass.first_at AND pass.last_at)::int - pass.activities AS unchanged
FROM training.today t
CROSS JOIN LATERAL (
  WITH revision AS (
    SELECT v.activity_id, v.started_at, v.started_at_local::date AS day, r.observed_at,
      (r.changes #>> '{xss,0}')::float8 AS xss_before, (r.changes #>> '{xss,1}')::float8 AS xss_after,
      (r.changes #>> '{sig_ftp,0}')::float8 AS ftp_before, (r.changes #>> '{sig_ftp,1}')::float8 AS ftp_after
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT observed_at, changes FROM training.activity_revisions WHERE activity_revisions.activity_id = v.activity_id OFFSET 0
    ) r
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND (
      (r.changes #>> '{xss,0}' IS NOT NULL AND r.changes #>> '{xss,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_ftp,0}' IS NOT NULL AND r.changes #>> '{sig_ftp,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_pp,0}' IS NOT NULL AND r.changes #>> '{sig_pp,1}' IS NOT NULL)
      OR (r.changes #>> '{tl_ftp,0}' IS NOT NULL AND r.changes #>> '{tl_ftp,1}' IS NOT NULL))
  ), begun AS (
    SELECT *, observed_at - lag(observed_at) OVER (ORDER BY observed_at) <= interval '1 hour' AS goes_on FROM revision
  ), pass AS (
    SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (ORDER BY observed_at) AS number FROM begun
  ), changed AS (
    SELECT number, activity_id, started_at, day, min(observed_at) AS observed_from, max(observed_at) AS observed_to,
      (array_agg(xss_before ORDER BY observed_at) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_before,
      (array_agg(xss_after ORDER BY observed_at DESC) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_after,
      (array_agg(ftp_before ORDER BY observed_at) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_before,
      (array_agg(ftp_after ORDER BY observed_at DESC) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_after
    FROM pass GROUP BY 1, 2, 3, 4
  )
  SELECT count(*)::int AS activities,
    sum(xss_before) AS xss_before, sum(xss_after) AS xss_after, sum(xss_after) - sum(xss_before) AS xss_change,
    avg(ftp_before) AS ftp_before, avg(ftp_after) AS ftp_after,
    min(day) AS first_ride, max(day) AS last_ride, min(observed_from) AS observed_from, max(observed_to) AS observed_to,
    min(started_at) AS first_at, max(started_at) AS last_at, (array_agg(activity_id ORDER BY started_at, activity_id))[1] AS first_activity_id
  FROM changed GROUP BY number HAVING count(*) >= 5
) pass;
COMMENT ON COLUMN training.recalculations.first_activity_id IS 'Activity that is the first that changed, see activities: when a rider saves one activity, the service locks it and changes all later ones up to the next locked one';
COMMENT ON COLUMN training.recalculations.unchanged IS 'Derived: number of activities from the first to the last that changed which did not change themselves; 0 for one whole stretch';
