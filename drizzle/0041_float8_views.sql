-- Postgres adds real in single precision, which is off by percents over millions of rows.
CREATE VIEW training.samples_float8 AS
SELECT a.account_id, s.activity_id, s.t, s.power::float8 AS power, s.mpa::float8 AS mpa, s.cad::float8 AS cad, s.alt::float8 AS alt,
  s.hr::float8 AS hr, s.spd::float8 AS spd, s.tgt::float8 AS tgt, s.lat, s.lng, s.dist::float8 AS dist, s.tws::float8 AS tws,
  s.xds::float8 AS xds, s.p_raw::float8 AS p_raw, s.lws::float8 AS lws, s.hws::float8 AS hws, s.pws::float8 AS pws, s.ordinal,
  c.name AS account
FROM training.samples s
JOIN training.activities a ON a.activity_id = s.activity_id
LEFT JOIN training.accounts c ON c.account_id = a.account_id
WHERE a.absent_since IS NULL;
COMMENT ON VIEW training.samples_float8 IS 'The samples of every activity that the service lists, with all numbers in double precision: sum() of them is exact to 15 digits, that of samples is not.';
COMMENT ON COLUMN training.samples_float8.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.samples_float8.account IS 'Name of the account';
--> statement-breakpoint
DO $$
DECLARE
  of_column record;
BEGIN
  EXECUTE (
    SELECT 'CREATE VIEW training.ride_records_float8 AS SELECT '
      || string_agg(format('%I' || CASE WHEN atttypid = 'real'::regtype THEN '::float8 AS %1$I' ELSE '' END, attname), ', ' ORDER BY attnum)
      || ' FROM training.ride_records'
    FROM pg_attribute WHERE attrelid = 'training.ride_records'::regclass AND attnum > 0 AND NOT attisdropped);
  COMMENT ON VIEW training.ride_records_float8 IS 'ride_records with all numbers in double precision: sum() of them is exact to 15 digits, that of ride_records is not. Ask for one activity, or give them one by one.';
  FOR of_column IN
    SELECT v.of_view, f.attname, col_description(f.attrelid, f.attnum) AS description
    FROM (VALUES ('training.samples_float8'::regclass, 'training.samples'::regclass),
      ('training.ride_records_float8'::regclass, 'training.ride_records'::regclass)) v (of_view, source)
    JOIN pg_attribute f ON f.attrelid = v.source AND f.attnum > 0 AND NOT f.attisdropped
  LOOP
    EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', of_column.of_view, of_column.attname, of_column.description);
  END LOOP;
END
$$;
--> statement-breakpoint
COMMENT ON TABLE training.samples IS 'One row a second of an activity as the service sent it. An activity has all of its samples or none: they are replaced together. BRIN indexes on activity_id and t make both quick to select by. To join, give the activities one by one: FROM activities a CROSS JOIN LATERAL (SELECT … FROM samples WHERE activity_id = a.activity_id) s; a plain JOIN of a few activities may read the whole table. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from samples_float8. avg() is exact.';
COMMENT ON TABLE training.fit_records IS 'Every record of each FIT file that passed, as the head unit wrote it, about one a second. What has no column here, and what apps and sensors added, is in fit_fields. Joined to the activities: the view ride_records. To join by hand, give the files one by one: FROM ride_files … CROSS JOIN LATERAL (SELECT … FROM fit_records WHERE file_id = …) r. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from ride_records_float8. avg() is exact.';
COMMENT ON VIEW training.ride_samples IS 'The samples of each activity without strays, see stray_samples of activities, with the seconds that each lasts. Ask for one activity, or give them one by one. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from samples_float8. avg() is exact.';
COMMENT ON VIEW training.ride_records IS 'Every record of the FIT file of each activity that has one here, see ride_files and fit_records. Ask for one activity, or give them one by one. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from ride_records_float8. avg() is exact.';
--> statement-breakpoint
CREATE FUNCTION musette.known_load(load double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(load) < 1e-20 THEN 0 ELSE load END;
COMMENT ON FUNCTION musette.known_load(double precision) IS 'A load or score, 0 for the trace that years without an activity leave: Postgres reports the underflow of its square as an error.';
--> statement-breakpoint
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
