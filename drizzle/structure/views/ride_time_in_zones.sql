-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.ride_time_in_zones AS
SELECT f.account_id, f.activity_id, f.content_id, m.position, CASE m.fields -> 'referenceMesg' WHEN '18' THEN 'session' WHEN '19' THEN 'lap' ELSE m.fields ->> 'referenceMesg' END AS span,
  CASE jsonb_typeof(m.fields -> 'referenceIndex') WHEN 'number' THEN (m.fields -> 'referenceIndex')::double precision END AS span_index,
  z.measure, e.zone::integer AS zone, (e.seconds)::double precision AS seconds, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'timeInZone' OFFSET 0
) m
CROSS JOIN (VALUES ('hr', 'timeInHrZone'), ('power', 'timeInPowerZone'), ('cadence', 'timeInCadenceZone'), ('speed', 'timeInSpeedZone'))
  AS z (measure, field)
CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> z.field) WHEN 'array' THEN m.fields -> z.field END)
  WITH ORDINALITY AS e (seconds, zone)
LEFT JOIN training.accounts a ON a.account_id = f.account_id
WHERE jsonb_typeof(e.seconds) = 'number';

-- Comments, last changed by 0016_fit_records
COMMENT ON VIEW training.ride_time_in_zones IS 'The time in each zone as the device summed it up, by session and lap, of each activity whose FIT file is here. By the zones of the device, not those of activity_intensity.';
COMMENT ON COLUMN training.ride_time_in_zones.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_time_in_zones.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_time_in_zones.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_time_in_zones."position" IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_time_in_zones.span IS 'What it sums up: session or lap';
COMMENT ON COLUMN training.ride_time_in_zones.span_index IS 'Number of that session or lap, from 0';
COMMENT ON COLUMN training.ride_time_in_zones.measure IS 'hr, power, cadence or speed';
COMMENT ON COLUMN training.ride_time_in_zones.zone IS 'Number of the zone, from 1: the first is what lies below all zones of some devices';
COMMENT ON COLUMN training.ride_time_in_zones.seconds IS 'Time in the zone, s';
COMMENT ON COLUMN training.ride_time_in_zones.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_time_in_zones SET (security_invoker=true);
GRANT SELECT ON training.ride_time_in_zones TO musette_one_account, musette_reader;
