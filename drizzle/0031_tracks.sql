CREATE FUNCTION training.is_position(lat double precision, lng double precision) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce(abs(lat) <= 90 AND abs(lng) <= 180 AND (lat <> 0 OR lng <> 0), false);
COMMENT ON FUNCTION training.is_position(double precision, double precision) IS 'Whether a latitude and a longitude, degrees, are a place on earth. Exactly 0, 0 is none, because devices write it before they have a position.';
--> statement-breakpoint
CREATE FUNCTION training.track(activity integer)
RETURNS TABLE (n integer, segment integer, t timestamptz, lat double precision, lng double precision, alt real, dist real, power real, hr real,
  cad real, temperature smallint)
LANGUAGE sql STABLE ROWS 5000 SET search_path = pg_catalog, pg_temp AS $$
  WITH track AS (
    SELECT s.*, s.ctid AS place, date_trunc('second', s.t) AS second, count(s.p_raw) OVER () > 0 AS is_raw,
      training.is_position(s.lat, s.lng) AS is_placed,
      s.t - lag(s.t) OVER (ORDER BY s.t, s.ordinal, s.ctid) > greatest(2 * i.sample_spacing_s, 10) * interval '1 second' AS is_resumed
    FROM training.activities a
    JOIN training.samples s ON s.activity_id = a.activity_id
    LEFT JOIN training.activity_intensity i ON i.activity_id = a.activity_id
    WHERE a.activity_id = $1 AND s.activity_id = $1 AND isfinite(s.t) AND training.in_main_run(s.t, a.recorded_from, a.elapsed_s)
  ), recorded AS (
    SELECT date_trunc('second', r.t) AS second, (array_agg(r.temperature ORDER BY r.position))[1] AS temperature
    FROM training.ride_records r WHERE r.activity_id = $1 AND r.temperature IS NOT NULL GROUP BY 1
  )
  SELECT (row_number() OVER w)::integer, (count(*) FILTER (WHERE k.is_resumed) OVER w)::integer, k.t,
    CASE WHEN k.is_placed THEN k.lat END, CASE WHEN k.is_placed THEN k.lng END, k.alt, k.dist,
    CASE WHEN k.is_raw THEN k.p_raw ELSE k.power END, k.hr, k.cad, r.temperature
  FROM track k LEFT JOIN recorded r ON r.second = k.second
  WINDOW w AS (ORDER BY k.t, k.ordinal, k.place) ORDER BY 1
$$;
COMMENT ON FUNCTION training.track(integer) IS 'Derived: the samples of an activity''s main run in the order of time, as its GPX and TCX files have them: n is the number of the sample from 1, segment counts the pauses before a sample (more than 10 s, and than two of sample_spacing_s, without one); latitude and longitude are NULL where they are no position; power is p_raw where the activity has it; the temperature, °C, is that of the FIT file''s record of the same second. Also of an activity that the service no longer lists.';
--> statement-breakpoint
-- Postgres writes the body of each of these functions into the query that calls it.
CREATE FUNCTION musette.xml_text(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(regexp_replace(value, '[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]', '', 'g'), '&', '&amp;'), '<', '&lt;'), '>', '&gt;');
COMMENT ON FUNCTION musette.xml_text(text) IS 'Escapes markup and removes characters that XML forbids.';
CREATE FUNCTION musette.xml_tag(name text, content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN content <> '' THEN '<' || name || '>' || content || '</' || name || '>' ELSE '' END;
COMMENT ON FUNCTION musette.xml_tag(text, text) IS 'An element of XML; nothing without content.';
CREATE FUNCTION musette.exact(value double precision) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(value) < 1e15 THEN value::text::numeric::text END;
COMMENT ON FUNCTION musette.exact(double precision) IS 'A number without an exponent, as schemas of XML ask, that reads back as the same; NULL of what is no measurement.';
CREATE FUNCTION musette.exact(value real) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN abs(value) < 1e15 THEN value::text::numeric::text END;
COMMENT ON FUNCTION musette.exact(real) IS 'The same of a number of four bytes.';
CREATE FUNCTION musette.whole(value real, lowest integer, highest integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN round(value::double precision) BETWEEN lowest AND highest THEN round(value::double precision)::integer::text END;
COMMENT ON FUNCTION musette.whole(real, integer, integer) IS 'A number as a whole one, where a schema has no other; NULL outside of its range.';
CREATE FUNCTION musette.utc(instant timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
COMMENT ON FUNCTION musette.utc(timestamptz) IS 'An instant as ISO 8601 in UTC, to the millisecond.';
--> statement-breakpoint
CREATE FUNCTION training.gpx(activity integer) RETURNS SETOF text LANGUAGE sql STABLE ROWS 5000
BEGIN ATOMIC
  SELECT each.line FROM (
    SELECT 0 AS n, concat('<?xml version="1.0" encoding="UTF-8"?>', E'\n<gpx version="1.1" creator="musette" xmlns="http://www.topografix.com/GPX/1/1"',
        ' xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1" xmlns:pwr="http://www.garmin.com/xmlschemas/PowerExtension/v1">',
        E'\n<metadata>', title.tag, musette.xml_tag('time', musette.utc(coalesce(CASE WHEN isfinite(a.started_at) THEN a.started_at END, a.recorded_from))),
        E'</metadata>\n<trk>', title.tag, musette.xml_tag('desc', musette.xml_text(a.description)), musette.xml_tag('type', musette.xml_text(a.activity_type))) AS line
    FROM training.activities a
    CROSS JOIN LATERAL (SELECT musette.xml_tag('name', musette.xml_text(coalesce(nullif(a.name, ''), a.path))) AS tag) title
    WHERE a.activity_id = activity
    UNION ALL
    SELECT p.n, concat(CASE WHEN p.segment IS DISTINCT FROM lag(p.segment) OVER w THEN E'<trkseg>\n' END,
        -- The schema has no 180 degrees east.
        '<trkpt lat="', musette.exact(p.lat), '" lon="', musette.exact(CASE WHEN p.lng = 180 THEN -180 ELSE p.lng END), '">',
        musette.xml_tag('ele', musette.exact(p.alt)), musette.xml_tag('time', musette.utc(p.t)),
        musette.xml_tag('extensions', musette.xml_tag('pwr:PowerInWatts', musette.whole(p.power, 0, 65535)) || musette.xml_tag('gpxtpx:TrackPointExtension',
          concat(musette.xml_tag('gpxtpx:atemp', p.temperature::text), musette.xml_tag('gpxtpx:hr', musette.whole(p.hr, 1, 255)),
            musette.xml_tag('gpxtpx:cad', musette.whole(p.cad, 0, 254))))), '</trkpt>',
        CASE WHEN p.segment IS DISTINCT FROM lead(p.segment) OVER w THEN E'\n</trkseg>' END)
    FROM training.track(activity) p WHERE p.lat IS NOT NULL WINDOW w AS (ORDER BY p.n)
    UNION ALL
    SELECT 2147483647, E'</trk>\n</gpx>' FROM training.activities a WHERE a.activity_id = activity
  ) each ORDER BY each.n;
END;
COMMENT ON FUNCTION training.gpx(integer) IS 'Derived: the track of an activity as the lines of a GPX 1.1 file, see track(): the samples with a position, with Garmin''s extensions for track points and power.';
--> statement-breakpoint
CREATE FUNCTION training.tcx(activity integer) RETURNS SETOF text LANGUAGE sql STABLE ROWS 5000
BEGIN ATOMIC
  SELECT each.line FROM (
    SELECT 0 AS n, concat('<?xml version="1.0" encoding="UTF-8"?>',
        E'\n<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2" xmlns:ns3="http://www.garmin.com/xmlschemas/ActivityExtension/v2">',
        E'\n<Activities><Activity Sport="', CASE a.sport WHEN 'cycling' THEN 'Biking' WHEN 'running' THEN 'Running' ELSE 'Other' END, '">',
        musette.xml_tag('Id', began.at), E'\n<Lap StartTime="', began.at, '">', musette.xml_tag('TotalTimeSeconds', coalesce(musette.exact(a.elapsed_s), '0')),
        musette.xml_tag('DistanceMeters', coalesce(musette.exact((a.distance::numeric * 1000)::double precision), '0')),
        musette.xml_tag('Calories', coalesce(musette.whole(a.total_calories::real, 0, 65535), '0')),
        '<Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod>') AS line
    FROM training.activities a
    CROSS JOIN LATERAL (SELECT musette.utc(coalesce(CASE WHEN isfinite(a.started_at) THEN a.started_at END, a.recorded_from)) AS at) began
    WHERE a.activity_id = activity
    UNION ALL
    SELECT p.n, concat(CASE WHEN p.segment IS DISTINCT FROM lag(p.segment) OVER w THEN E'<Track>\n' END,
        '<Trackpoint>', musette.xml_tag('Time', musette.utc(p.t)),
        musette.xml_tag('Position', musette.xml_tag('LatitudeDegrees', musette.exact(p.lat)) || musette.xml_tag('LongitudeDegrees', musette.exact(p.lng))),
        musette.xml_tag('AltitudeMeters', musette.exact(p.alt)), musette.xml_tag('DistanceMeters', musette.exact(p.dist)),
        musette.xml_tag('HeartRateBpm', musette.xml_tag('Value', musette.whole(p.hr, 1, 255))), musette.xml_tag('Cadence', musette.whole(p.cad, 0, 254)),
        musette.xml_tag('Extensions', musette.xml_tag('ns3:TPX', musette.xml_tag('ns3:Watts', musette.whole(p.power, 0, 65535)))), '</Trackpoint>',
        CASE WHEN p.segment IS DISTINCT FROM lead(p.segment) OVER w THEN E'\n</Track>' END)
    FROM training.track(activity) p WINDOW w AS (ORDER BY p.n)
    UNION ALL
    SELECT 2147483647, concat('</Lap>', musette.xml_tag('Notes', musette.xml_text(concat_ws(E'\n', coalesce(nullif(a.name, ''), a.path), a.description))),
      E'</Activity></Activities>\n</TrainingCenterDatabase>')
    FROM training.activities a WHERE a.activity_id = activity
  ) each ORDER BY each.n;
END;
COMMENT ON FUNCTION training.tcx(integer) IS 'Derived: the track of an activity as the lines of a TCX file, see track(): all samples in one lap, with Garmin''s activity extension for power.';
--> statement-breakpoint
CREATE FUNCTION training.geojson(activity integer) RETURNS json LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT json_build_object('type', 'Feature', 'properties', json_build_object(
      'path', a.path, 'name', a.name, 'description', a.description, 'activity_type', a.activity_type, 'sport', a.sport,
      'started_at', musette.utc(a.started_at), 'elapsed_s', a.elapsed_s, 'distance', a.distance,
      'coordinateProperties', json_build_object('times', json_agg(l.times), 'power', json_agg(l.power), 'hr', json_agg(l.hr),
        'cad', json_agg(l.cad), 'temperature', json_agg(l.temperature), 'dist', json_agg(l.dist))),
    'geometry', json_build_object('type', 'MultiLineString', 'coordinates', json_agg(l.places)))
  FROM training.activities a
  CROSS JOIN (
    SELECT p.segment, json_agg(CASE WHEN p.alt IS NULL THEN json_build_array(p.lng, p.lat) ELSE json_build_array(p.lng, p.lat, p.alt) END
        ORDER BY p.n) AS places,
      json_agg(musette.utc(p.t) ORDER BY p.n) AS times, json_agg(p.power ORDER BY p.n) AS power,
      json_agg(p.hr ORDER BY p.n) AS hr, json_agg(p.cad ORDER BY p.n) AS cad, json_agg(p.temperature ORDER BY p.n) AS temperature,
      json_agg(p.dist ORDER BY p.n) AS dist
    FROM (
      SELECT *, count(*) OVER (PARTITION BY k.segment) = 1 AS is_alone FROM training.track(activity) k WHERE k.lat IS NOT NULL
    ) p
    -- A line has two positions at least.
    CROSS JOIN generate_series(1, CASE WHEN p.is_alone THEN 2 ELSE 1 END)
    GROUP BY p.segment ORDER BY p.segment
  ) l
  WHERE a.activity_id = activity GROUP BY a.activity_id;
END;
COMMENT ON FUNCTION training.geojson(integer) IS 'Derived: the track of an activity as a GeoJSON feature (RFC 7946), see track(): a line for each segment, of the samples with a position. coordinateProperties has the times and the other values in lists of the same shape. NULL without positions.';
