-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.fit_form(account integer) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.fit_form(integer) IS 'Fits form_constants of an account anew, unless they are fitted to the present values of its activities. Returns whether it did.';
