-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0038_antimeridian_and_beats
CREATE OR REPLACE FUNCTION training.track(activity integer)
RETURNS TABLE (n integer, segment integer, t timestamptz, lat double precision, lng double precision, alt real, dist real, power real, hr real,
  cad real, temperature smallint)
LANGUAGE sql STABLE ROWS 5000 SET search_path = pg_catalog, pg_temp AS $$
  WITH sampled AS (
    SELECT s.*, CASE WHEN s.lng = 180 THEN -180 ELSE s.lng END AS east, s.ctid AS place, date_trunc('second', s.t) AS second, count(s.p_raw) OVER () > 0 AS is_raw,
      training.is_position(s.lat, s.lng) AS is_placed,
      s.t - lag(s.t) OVER (ORDER BY s.t, s.ordinal, s.ctid) > greatest(2 * i.sample_spacing_s, 10) * interval '1 second' AS is_resumed
    FROM training.activities a
    JOIN training.samples s ON s.activity_id = a.activity_id
    LEFT JOIN training.activity_intensity i ON i.activity_id = a.activity_id
    WHERE a.activity_id = $1 AND s.activity_id = $1 AND isfinite(s.t) AND training.in_main_run(s.t, a.recorded_from, a.elapsed_s)
  ), track AS (
    SELECT s.*, s.is_placed AND abs(s.east - lag(s.east) OVER (PARTITION BY s.is_placed ORDER BY s.t, s.ordinal, s.place)) > 180 AS is_crossed
    FROM sampled s
  ), recorded AS (
    SELECT date_trunc('second', r.t) AS second, (array_agg(r.temperature ORDER BY r.position))[1] AS temperature
    FROM training.ride_records r WHERE r.activity_id = $1 AND r.temperature IS NOT NULL GROUP BY 1
  )
  SELECT (row_number() OVER w)::integer, (count(*) FILTER (WHERE k.is_resumed OR k.is_crossed) OVER w)::integer, k.t,
    CASE WHEN k.is_placed THEN k.lat END, CASE WHEN k.is_placed THEN k.east END, k.alt, k.dist,
    CASE WHEN k.is_raw THEN k.p_raw ELSE k.power END, k.hr, k.cad, r.temperature
  FROM track k LEFT JOIN recorded r ON r.second = k.second
  WINDOW w AS (ORDER BY k.t, k.ordinal, k.place) ORDER BY 1
$$;

-- Comments, last changed by 0038_antimeridian_and_beats
COMMENT ON FUNCTION training.track(integer) IS 'Derived: the samples of an activity''s main run in the order of time, as its GPX and TCX files have them: n is the number of the sample from 1; segment counts the pauses before a sample (more than 10 s, and more than two of sample_spacing_s, without one) and the crossings of the 180° meridian; latitude and longitude are NULL where they are no position, and 180° east is -180; power is p_raw where the activity has it; the temperature, °C, is that of the FIT file''s record of the same second. Also of an activity that the service no longer lists.';
