-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION training.gpx(activity integer) RETURNS SETOF text LANGUAGE sql STABLE ROWS 5000
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

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION training.gpx(integer) IS 'Derived: the track of an activity as the lines of a GPX 1.1 file, see track(): the samples with a position, with Garmin''s extensions for track points and power.';
