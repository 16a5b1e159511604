-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.fit_load(y0 double precision[], y1 double precision[], score double precision[], days double precision[],
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

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.fit_load(double precision[],double precision[],double precision[],double precision[],double precision[],text) IS 'Fits tau and gain of one load to its values y0 and y1 of neighbouring activities, see next_load(). middle is the median of the differences, size the mean of the loads.';
