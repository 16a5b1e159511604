-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0041_float8_views
CREATE OR REPLACE FUNCTION musette.form_steps(account integer) RETURNS TABLE (activity_id integer, started_at timestamptz, day date, is_told boolean,
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
    ARRAY[musette.known_load(tl_ftp), musette.known_load(tl_hie), musette.known_load(tl_pp)] AS tl,
    ARRAY[musette.known_load(rl_ftp), musette.known_load(rl_hie), musette.known_load(rl_pp)] AS rl,
    ARRAY[musette.known_load(xlss), musette.known_load(xhss), musette.known_load(xpss)] AS xss, form
  FROM training.activities
  WHERE account_id = account AND absent_since IS NULL AND isfinite(started_at) AND isfinite(started_at_local)
    -- One that is fetched and has neither load nor score changes no load.
    AND (detail_state <> 'mirrored' OR num_nonnulls(tl_ftp, rl_ftp, xss) > 0)
  WINDOW earlier AS (ORDER BY started_at, activity_id)
) v
WINDOW later AS (ORDER BY v.started_at, v.activity_id);
END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.form_steps(integer) IS 'Each activity of an account that changes the loads, with the next one: day never goes back, is_told says whether loads and scores are all known, and the arrays have low, high and peak. A function, because a reader of one account reads with rights of its own, and none in this schema.';
