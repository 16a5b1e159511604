-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.form_row(loads double precision[], why text, is_difference boolean) RETURNS TABLE (tl_low double precision,
  tl_high double precision, tl_peak double precision, tl_total double precision, rl_low double precision, rl_high double precision,
  rl_peak double precision, rl_total double precision, form double precision, reason text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT a.l[1], a.l[2], a.l[3], a.l[1] + a.l[2] + a.l[3], a.l[4], a.l[5], a.l[6], a.l[4] + a.l[5] + a.l[6],
    CASE WHEN is_difference THEN a.l[1] + a.l[2] + a.l[3] - a.l[4] - a.l[5] - a.l[6] END,
    coalesce(why, CASE WHEN is_difference THEN NULL ELSE 'the told form is not the difference of the loads' END)
  FROM (SELECT CASE WHEN why IS NULL THEN loads END OFFSET 0) AS a (l);
END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.form_row(double precision[],text,boolean) IS 'The columns of loads and form, NULL with a reason.';
