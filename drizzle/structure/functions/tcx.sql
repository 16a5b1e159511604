-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION training.tcx(activity integer) RETURNS SETOF text LANGUAGE sql STABLE ROWS 5000
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

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION training.tcx(integer) IS 'Derived: the track of an activity as the lines of a TCX file, see track(): all samples in one lap, with Garmin''s activity extension for power.';
