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
COMMENT ON FUNCTION training.track(integer) IS 'Derived: the samples of an activity''s main run in the order of time, as its GPX and TCX files have them: n is the number of the sample from 1; segment counts the pauses before a sample (more than 10 s, and more than two of sample_spacing_s, without one) and the crossings of the 180° meridian; latitude and longitude are NULL where they are no position, and 180° east is -180; power is p_raw where the activity has it; the temperature, °C, is that of the FIT file''s record of the same second. Also of an activity that the service no longer lists.';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.ride_rr_intervals AS
SELECT f.account_id, f.activity_id, f.content_id, i.position, i.place::integer AS place, i.t, i.interval_s,
  sum(i.interval_s) OVER (PARTITION BY f.activity_id ORDER BY i.position, i.place) AS elapsed_s, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
-- The span of the beats that a strap kept: an hrv message of the same time has the same beats.
CROSS JOIN LATERAL (
  SELECT min(m.t) AS first,
    max(m.t + ((m.fields -> 'eventTimestamp' -> -1)::double precision - (m.fields -> 'eventTimestamp' -> 0)::double precision) * interval '1 second') AS last
  FROM training.fit_messages m
  WHERE m.file_id = x.file_id AND m.message = 'hr' AND jsonb_typeof(m.fields -> 'eventTimestamp') = 'array'
) kept
CROSS JOIN LATERAL (
  SELECT m.position, e.place, m.t, (e.value)::double precision AS interval_s
  FROM (
    SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hrv' OFFSET 0
  ) m
  CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'time') WHEN 'array' THEN m.fields -> 'time' END) WITH ORDINALITY AS e (value, place)
  WHERE jsonb_typeof(e.value) = 'number' AND (m.t BETWEEN kept.first AND kept.last) IS NOT TRUE
  UNION ALL
  SELECT b.position, b.place, b.t, b.beat - b.beat_before
  FROM (
    SELECT m.position, e.place, (e.value)::double precision AS beat,
      m.t + ((e.value)::double precision - (m.fields -> 'eventTimestamp' -> 0)::double precision + coalesce((m.fields ->> 'fractionalTimestamp')::double precision, 0)) * interval '1 second' AS t,
      lag((e.value)::double precision) OVER (ORDER BY m.position, e.place) AS beat_before
    FROM (
      SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hr' OFFSET 0
    ) m
    CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'eventTimestamp') WHEN 'array' THEN m.fields -> 'eventTimestamp' END) WITH ORDINALITY AS e (value, place)
    WHERE jsonb_typeof(e.value) = 'number'
  ) b
  -- The longest interval that an hrv message can hold; behind a longer pause the strap has lost the skin.
  WHERE b.beat > b.beat_before AND b.beat - b.beat_before < 65.535
) i
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON VIEW training.ride_rr_intervals IS 'The time from each heartbeat to the next (R-R interval) of each activity whose FIT file is here and whose device wrote them, in the order of position and place. If a strap kept its beats, as in water, the intervals of that time are between the kept beats, and hrv messages of the same time are left out.';
