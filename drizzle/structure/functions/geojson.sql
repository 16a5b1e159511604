-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION training.geojson(activity integer) RETURNS json LANGUAGE sql STABLE
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

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION training.geojson(integer) IS 'Derived: the track of an activity as a GeoJSON feature (RFC 7946), see track(): a line for each segment, of the samples with a position. coordinateProperties has the times and the other values in lists of the same shape. NULL without positions.';
