-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.ride_lengths AS
SELECT f.account_id, f.activity_id, f.content_id, row_number() OVER (PARTITION BY f.activity_id ORDER BY m.position)::integer AS length,
  (m.fields ->> 'startTime')::timestamptz AS started_at, m.t AS ended_at,
  CASE jsonb_typeof(m.fields -> 'totalElapsedTime') WHEN 'number' THEN (m.fields -> 'totalElapsedTime')::double precision END AS elapsed_s,
  CASE jsonb_typeof(m.fields -> 'totalTimerTime') WHEN 'number' THEN (m.fields -> 'totalTimerTime')::double precision END AS timer_s,
  CASE m.fields -> 'lengthType' WHEN '0' THEN 'idle' WHEN '1' THEN 'active' ELSE m.fields ->> 'lengthType' END AS length_type,
  coalesce(('{freestyle,backstroke,breaststroke,butterfly,drill,mixed,im,imByRound,rimo}'::text[])[(CASE jsonb_typeof(m.fields -> 'swimStroke') WHEN 'number' THEN (m.fields -> 'swimStroke')::integer END) + 1],
    m.fields ->> 'swimStroke') AS stroke,
  CASE jsonb_typeof(m.fields -> 'totalStrokes') WHEN 'number' THEN (m.fields -> 'totalStrokes')::double precision END AS strokes,
  CASE jsonb_typeof(m.fields -> 'avgSpeed') WHEN 'number' THEN (m.fields -> 'avgSpeed')::double precision END AS avg_speed_mps,
  CASE jsonb_typeof(m.fields -> 'avgSwimmingCadence') WHEN 'number' THEN (m.fields -> 'avgSwimmingCadence')::double precision END AS avg_cadence, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'length' OFFSET 0
) m
LEFT JOIN training.accounts a ON a.account_id = f.account_id;

-- Comments, last changed by 0016_fit_records
COMMENT ON VIEW training.ride_lengths IS 'The lengths of a pool of each activity whose FIT file is here, in the order of length.';
COMMENT ON COLUMN training.ride_lengths.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_lengths.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_lengths.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_lengths.length IS 'Number of the length, from 1';
COMMENT ON COLUMN training.ride_lengths.started_at IS 'Start';
COMMENT ON COLUMN training.ride_lengths.ended_at IS 'When the device wrote it, which is at its end';
COMMENT ON COLUMN training.ride_lengths.elapsed_s IS 'Time from start to end, s';
COMMENT ON COLUMN training.ride_lengths.timer_s IS 'Time that the timer ran, s';
COMMENT ON COLUMN training.ride_lengths.length_type IS 'active: swum; idle: a rest';
COMMENT ON COLUMN training.ride_lengths.stroke IS 'Stroke, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_lengths.strokes IS 'Number of strokes';
COMMENT ON COLUMN training.ride_lengths.avg_speed_mps IS 'Mean speed, m/s';
COMMENT ON COLUMN training.ride_lengths.avg_cadence IS 'Strokes, 1/min';
COMMENT ON COLUMN training.ride_lengths.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_lengths SET (security_invoker=true);
GRANT SELECT ON training.ride_lengths TO musette_one_account, musette_reader;
