-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.ride_events AS
SELECT f.account_id, f.activity_id, f.content_id, m.position, m.record, m.t, m.event, m.event_type, d.data,
  CASE WHEN m.event IN ('frontGearChange', 'rearGearChange') THEN nullif(nullif(d.data >> 24 & 255, 255), 0)::integer END AS front_gear,
  CASE WHEN m.event IN ('frontGearChange', 'rearGearChange') THEN nullif(nullif(d.data >> 8 & 255, 255), 0)::integer END AS rear_gear, m.fields, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'event' OFFSET 0
) m
CROSS JOIN LATERAL (
  SELECT CASE jsonb_typeof(m.fields -> 'data') WHEN 'number' THEN (m.fields -> 'data')::bigint END AS data
) d
LEFT JOIN training.accounts a ON a.account_id = f.account_id;

-- Comments, last changed by 0016_fit_records
COMMENT ON VIEW training.ride_events IS 'The events of each activity whose FIT file is here, in the order of position: start and stop of the timer, gear changes, alerts, markers.';
COMMENT ON COLUMN training.ride_events.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_events.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_events.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_events."position" IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_events.record IS 'Number of the record before it, see fit_messages';
COMMENT ON COLUMN training.ride_events.t IS 'Time of the event';
COMMENT ON COLUMN training.ride_events.event IS 'Kind of the event, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_events.event_type IS 'What the event says, such as start, stop or marker';
COMMENT ON COLUMN training.ride_events.data IS 'Number of the event, no unit: what it means depends on the kind';
COMMENT ON COLUMN training.ride_events.front_gear IS 'Number of teeth of the chainring after a gear change; NULL of other events, and where the device does not tell';
COMMENT ON COLUMN training.ride_events.rear_gear IS 'Number of teeth of the sprocket after a gear change; NULL of other events, and where the device does not tell';
COMMENT ON COLUMN training.ride_events.fields IS 'Every field of the message, see fit_messages';
COMMENT ON COLUMN training.ride_events.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_events SET (security_invoker=true);
GRANT SELECT ON training.ride_events TO musette_one_account, musette_reader;
