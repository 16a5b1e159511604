ALTER TABLE training.fit_files ADD COLUMN file_id integer NOT NULL GENERATED ALWAYS AS IDENTITY;
ALTER TABLE training.fit_files ADD CONSTRAINT fit_files_file_id UNIQUE (file_id);
ALTER TABLE training.fit_files ADD COLUMN reader_version integer NOT NULL DEFAULT 1,
  ADD COLUMN min_temperature double precision, ADD COLUMN avg_temperature double precision,
  ADD COLUMN max_temperature double precision, ADD COLUMN right_power_pct double precision;
COMMENT ON COLUMN training.fit_files.min_temperature IS 'Derived: lowest temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.avg_temperature IS 'Derived: mean temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.max_temperature IS 'Derived: highest temperature of the records, °C; NULL without one';
COMMENT ON COLUMN training.fit_files.right_power_pct IS 'Derived: mean share of the right leg in the power, %, of the records with power above 0; NULL where the device does not say which leg it measured';
COMMENT ON COLUMN training.fit_files.file_id IS 'Key of the file in this database: fit_records and fit_messages name it in each row, where content_id would take most of the room';
COMMENT ON COLUMN training.fit_files.reader_version IS 'Version of the reader that made the rows of the file. From 2 on they have fit_records and fit_messages; musette rebuild makes the rows of files of older ones anew, when their bytes are kept';

CREATE TABLE training.fit_records (
  t timestamptz,
  lat double precision,
  lng double precision,
  distance_m double precision,
  file_id integer NOT NULL,
  position integer NOT NULL,
  altitude_m real,
  speed_mps real,
  power real,
  cadence real,
  grade_pct real,
  vertical_speed_mps real,
  calories_kcal real,
  core_temperature real,
  respiration_rate real,
  right_power_pct real,
  left_torque_effectiveness_pct real,
  right_torque_effectiveness_pct real,
  left_pedal_smoothness_pct real,
  right_pedal_smoothness_pct real,
  combined_pedal_smoothness_pct real,
  left_pco_mm real,
  right_pco_mm real,
  left_power_phase_start_deg real,
  left_power_phase_end_deg real,
  left_power_phase_peak_start_deg real,
  left_power_phase_peak_end_deg real,
  right_power_phase_start_deg real,
  right_power_phase_end_deg real,
  right_power_phase_peak_start_deg real,
  right_power_phase_peak_end_deg real,
  vertical_oscillation_mm real,
  vertical_ratio_pct real,
  stance_time_ms real,
  stance_time_pct real,
  stance_time_balance_pct real,
  step_length_mm real,
  muscle_oxygen_pct real,
  total_hemoglobin real,
  battery_pct real,
  hr smallint,
  temperature smallint,
  gps_accuracy_m smallint,
  front_gear smallint,
  rear_gear smallint
);
-- As in samples: the rows of a file are written and replaced together, and read by file.
ALTER TABLE training.fit_records SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE training.fit_records ALTER COLUMN file_id SET STATISTICS 10;
ALTER TABLE training.fit_records REPLICA IDENTITY FULL;
CREATE INDEX fit_records_file ON training.fit_records USING brin (file_id int4_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = true);
COMMENT ON TABLE training.fit_records IS 'Every record of each FIT file that passed, as the head unit wrote it, about one a second. What has no column here, and what apps and sensors added, is in fit_fields. Joined to the activities: the view ride_records. To join by hand, give the files one by one: FROM ride_files … CROSS JOIN LATERAL (SELECT … FROM fit_records WHERE file_id = …) r.';
COMMENT ON COLUMN training.fit_records.t IS 'Time of the record; NULL of one that gives none';
COMMENT ON COLUMN training.fit_records.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.fit_records.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.fit_records.distance_m IS 'Distance so far, m';
COMMENT ON COLUMN training.fit_records.file_id IS 'Key of the file, see fit_files';
COMMENT ON COLUMN training.fit_records.position IS 'Number of the record in the file, from 1';
COMMENT ON COLUMN training.fit_records.altitude_m IS 'Altitude, m; the field enhancedAltitude where the record has it, else altitude';
COMMENT ON COLUMN training.fit_records.speed_mps IS 'Speed, m/s; the field enhancedSpeed where the record has it, else speed';
COMMENT ON COLUMN training.fit_records.power IS 'Power, W';
COMMENT ON COLUMN training.fit_records.cadence IS 'Cadence, 1/min, with its fraction where the record has one';
COMMENT ON COLUMN training.fit_records.grade_pct IS 'Grade, %';
COMMENT ON COLUMN training.fit_records.vertical_speed_mps IS 'Vertical speed, m/s';
COMMENT ON COLUMN training.fit_records.calories_kcal IS 'Energy so far, kcal';
COMMENT ON COLUMN training.fit_records.core_temperature IS 'Core temperature of the body, °C; of sensors that write it as a field of an app see fit_fields';
COMMENT ON COLUMN training.fit_records.respiration_rate IS 'Breaths, 1/min; the field enhancedRespirationRate where the record has it, else respirationRate';
COMMENT ON COLUMN training.fit_records.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it measured';
COMMENT ON COLUMN training.fit_records.left_torque_effectiveness_pct IS 'Torque effectiveness of the left leg, %';
COMMENT ON COLUMN training.fit_records.right_torque_effectiveness_pct IS 'Torque effectiveness of the right leg, %';
COMMENT ON COLUMN training.fit_records.left_pedal_smoothness_pct IS 'Pedal smoothness of the left leg, %';
COMMENT ON COLUMN training.fit_records.right_pedal_smoothness_pct IS 'Pedal smoothness of the right leg, %';
COMMENT ON COLUMN training.fit_records.combined_pedal_smoothness_pct IS 'Pedal smoothness of both legs, %';
COMMENT ON COLUMN training.fit_records.left_pco_mm IS 'Platform centre offset of the left foot, mm; outwards is positive';
COMMENT ON COLUMN training.fit_records.right_pco_mm IS 'Platform centre offset of the right foot, mm; outwards is positive';
COMMENT ON COLUMN training.fit_records.left_power_phase_start_deg IS 'Angle of the crank at which the left leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.fit_records.left_power_phase_end_deg IS 'Angle of the crank at which the left leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.fit_records.left_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the left leg begins, degrees from the top';
COMMENT ON COLUMN training.fit_records.left_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.fit_records.right_power_phase_start_deg IS 'Angle of the crank at which the right leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.fit_records.right_power_phase_end_deg IS 'Angle of the crank at which the right leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.fit_records.right_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the right leg begins, degrees from the top';
COMMENT ON COLUMN training.fit_records.right_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.fit_records.vertical_oscillation_mm IS 'Up and down of the runner in a step, mm';
COMMENT ON COLUMN training.fit_records.vertical_ratio_pct IS 'Vertical oscillation by step length, %';
COMMENT ON COLUMN training.fit_records.stance_time_ms IS 'Ground contact in a step, ms';
COMMENT ON COLUMN training.fit_records.stance_time_pct IS 'Share of a step with ground contact, %';
COMMENT ON COLUMN training.fit_records.stance_time_balance_pct IS 'Share of the left foot in the ground contact, %';
COMMENT ON COLUMN training.fit_records.step_length_mm IS 'Step length, mm';
COMMENT ON COLUMN training.fit_records.muscle_oxygen_pct IS 'Saturated hemoglobin of the muscle, %';
COMMENT ON COLUMN training.fit_records.total_hemoglobin IS 'Total hemoglobin of the muscle, g/dl';
COMMENT ON COLUMN training.fit_records.battery_pct IS 'Charge of the battery, %';
COMMENT ON COLUMN training.fit_records.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.fit_records.temperature IS 'Temperature at the device, °C';
COMMENT ON COLUMN training.fit_records.gps_accuracy_m IS 'Accuracy of the position, m';
COMMENT ON COLUMN training.fit_records.front_gear IS 'Number of teeth of the chainring in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.fit_records.rear_gear IS 'Number of teeth of the sprocket in use, by the last gear change before the record; NULL before the first one';

CREATE TABLE training.fit_messages (
  file_id integer NOT NULL,
  position integer NOT NULL,
  record integer NOT NULL,
  t timestamptz,
  message text NOT NULL,
  event text,
  event_type text,
  fields jsonb NOT NULL,
  CONSTRAINT fit_messages_file_id_position_pk PRIMARY KEY (file_id, position),
  CONSTRAINT fit_messages_file_id_fit_files_file_id_fk
    FOREIGN KEY (file_id) REFERENCES training.fit_files (file_id) ON DELETE CASCADE
);
COMMENT ON TABLE training.fit_messages IS 'Every message of each FIT file that passed, but for records, sessions and laps, which have tables of their own: events, R-R intervals, lengths of a pool, time in zones, workout steps, the rider''s profile and settings, battery, and those that the FIT profile does not know. Joined to the activities: ride_events, ride_rr_intervals, ride_lengths, ride_time_in_zones, ride_profiles.';
COMMENT ON COLUMN training.fit_messages.file_id IS 'Key of the file, see fit_files';
COMMENT ON COLUMN training.fit_messages.position IS 'Number of the message in the file, from 1, records, sessions and laps not counted';
COMMENT ON COLUMN training.fit_messages.record IS 'Number of the record before it, see position of fit_records; 0 before the first';
COMMENT ON COLUMN training.fit_messages.t IS 'Time of the message; of one that gives none, that of the record before it; NULL before the first record';
COMMENT ON COLUMN training.fit_messages.message IS 'Name of the message in the FIT profile; message_N of one that it does not know';
COMMENT ON COLUMN training.fit_messages.event IS 'Kind of an event, in the words of the FIT profile; NULL of other messages';
COMMENT ON COLUMN training.fit_messages.event_type IS 'What the event says, such as start, stop or marker; NULL of other messages';
COMMENT ON COLUMN training.fit_messages.fields IS 'Every field of the message but its time; see fit_laps';

ALTER TABLE training.fit_fields ALTER COLUMN developer_index DROP NOT NULL;
ALTER TABLE training.fit_fields ADD COLUMN records integer[];
ALTER TABLE training.fit_fields ADD COLUMN others jsonb;
COMMENT ON TABLE training.fit_fields IS 'The fields of the records of a FIT file that have no column in fit_records, one row a field with its values: those that apps and sensors added (developer fields), such as core temperature or muscle oxygen, and those of the device itself. One row a value: the view fit_field_values. A described field without a value is here, too.';
COMMENT ON COLUMN training.fit_fields.position IS 'Place of the field in the file, from 1; fields of the device come after those of apps';
COMMENT ON COLUMN training.fit_fields.name IS 'Name; of a field of the device that of the FIT profile, or field_N for one that it does not know';
COMMENT ON COLUMN training.fit_fields.units IS 'Unit, in the words of the app; NULL for a field of the device: it is in the unit of the FIT profile';
COMMENT ON COLUMN training.fit_fields.developer_index IS 'Number of the app in the file; NULL for a field of the device';
COMMENT ON COLUMN training.fit_fields.field_number IS 'Number of the field of that app, or in the FIT profile';
COMMENT ON COLUMN training.fit_fields.native_field IS 'Field of the FIT profile that it is, or that it stands for, when the app says so';
COMMENT ON COLUMN training.fit_fields.offsets_s IS 'Time from started_at of the file to each value, s; null of a record without a time';
COMMENT ON COLUMN training.fit_fields.values IS 'The values as they were written, in units; null where a value is no number, see others';
COMMENT ON COLUMN training.fit_fields.records IS 'Number of the record of each value, see position of fit_records; NULL where every record has a value, and in files that an earlier version read';
COMMENT ON COLUMN training.fit_fields.others IS 'Values that are no numbers (texts, lists, whole numbers beyond 2^53), by their place in values from 1; NULL where all are numbers';

CREATE VIEW training.ride_records AS
SELECT f.account_id, f.activity_id, f.content_id, r.position, r.t, r.lat, r.lng, r.distance_m, r.altitude_m, r.speed_mps, r.power, r.cadence, r.grade_pct,
  r.vertical_speed_mps, r.calories_kcal, r.core_temperature, r.respiration_rate, r.right_power_pct,
  r.left_torque_effectiveness_pct, r.right_torque_effectiveness_pct, r.left_pedal_smoothness_pct,
  r.right_pedal_smoothness_pct, r.combined_pedal_smoothness_pct, r.left_pco_mm, r.right_pco_mm,
  r.left_power_phase_start_deg, r.left_power_phase_end_deg, r.left_power_phase_peak_start_deg,
  r.left_power_phase_peak_end_deg, r.right_power_phase_start_deg, r.right_power_phase_end_deg,
  r.right_power_phase_peak_start_deg, r.right_power_phase_peak_end_deg, r.vertical_oscillation_mm,
  r.vertical_ratio_pct, r.stance_time_ms, r.stance_time_pct, r.stance_time_balance_pct, r.step_length_mm,
  r.muscle_oxygen_pct, r.total_hemoglobin, r.battery_pct, r.hr, r.temperature, r.gps_accuracy_m, r.front_gear,
  r.rear_gear, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (SELECT * FROM training.fit_records WHERE fit_records.file_id = x.file_id OFFSET 0) r
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON VIEW training.ride_records IS 'Every record of the FIT file of each activity that has one here, see ride_files and fit_records. Ask for one activity, or give them one by one.';
COMMENT ON COLUMN training.ride_records.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_records.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_records.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_records.position IS 'Number of the record in the file, from 1';
COMMENT ON COLUMN training.ride_records.t IS 'Time of the record; NULL of one that gives none';
COMMENT ON COLUMN training.ride_records.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.ride_records.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.ride_records.distance_m IS 'Distance so far, m';
COMMENT ON COLUMN training.ride_records.altitude_m IS 'Altitude, m; the field enhancedAltitude where the record has it, else altitude';
COMMENT ON COLUMN training.ride_records.speed_mps IS 'Speed, m/s; the field enhancedSpeed where the record has it, else speed';
COMMENT ON COLUMN training.ride_records.power IS 'Power, W';
COMMENT ON COLUMN training.ride_records.cadence IS 'Cadence, 1/min, with its fraction where the record has one';
COMMENT ON COLUMN training.ride_records.grade_pct IS 'Grade, %';
COMMENT ON COLUMN training.ride_records.vertical_speed_mps IS 'Vertical speed, m/s';
COMMENT ON COLUMN training.ride_records.calories_kcal IS 'Energy so far, kcal';
COMMENT ON COLUMN training.ride_records.core_temperature IS 'Core temperature of the body, °C; of sensors that write it as a field of an app see fit_fields';
COMMENT ON COLUMN training.ride_records.respiration_rate IS 'Breaths, 1/min; the field enhancedRespirationRate where the record has it, else respirationRate';
COMMENT ON COLUMN training.ride_records.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it measured';
COMMENT ON COLUMN training.ride_records.left_torque_effectiveness_pct IS 'Torque effectiveness of the left leg, %';
COMMENT ON COLUMN training.ride_records.right_torque_effectiveness_pct IS 'Torque effectiveness of the right leg, %';
COMMENT ON COLUMN training.ride_records.left_pedal_smoothness_pct IS 'Pedal smoothness of the left leg, %';
COMMENT ON COLUMN training.ride_records.right_pedal_smoothness_pct IS 'Pedal smoothness of the right leg, %';
COMMENT ON COLUMN training.ride_records.combined_pedal_smoothness_pct IS 'Pedal smoothness of both legs, %';
COMMENT ON COLUMN training.ride_records.left_pco_mm IS 'Platform centre offset of the left foot, mm; outwards is positive';
COMMENT ON COLUMN training.ride_records.right_pco_mm IS 'Platform centre offset of the right foot, mm; outwards is positive';
COMMENT ON COLUMN training.ride_records.left_power_phase_start_deg IS 'Angle of the crank at which the left leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records.left_power_phase_end_deg IS 'Angle of the crank at which the left leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records.left_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the left leg begins, degrees from the top';
COMMENT ON COLUMN training.ride_records.left_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.ride_records.right_power_phase_start_deg IS 'Angle of the crank at which the right leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records.right_power_phase_end_deg IS 'Angle of the crank at which the right leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records.right_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the right leg begins, degrees from the top';
COMMENT ON COLUMN training.ride_records.right_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.ride_records.vertical_oscillation_mm IS 'Up and down of the runner in a step, mm';
COMMENT ON COLUMN training.ride_records.vertical_ratio_pct IS 'Vertical oscillation by step length, %';
COMMENT ON COLUMN training.ride_records.stance_time_ms IS 'Ground contact in a step, ms';
COMMENT ON COLUMN training.ride_records.stance_time_pct IS 'Share of a step with ground contact, %';
COMMENT ON COLUMN training.ride_records.stance_time_balance_pct IS 'Share of the left foot in the ground contact, %';
COMMENT ON COLUMN training.ride_records.step_length_mm IS 'Step length, mm';
COMMENT ON COLUMN training.ride_records.muscle_oxygen_pct IS 'Saturated hemoglobin of the muscle, %';
COMMENT ON COLUMN training.ride_records.total_hemoglobin IS 'Total hemoglobin of the muscle, g/dl';
COMMENT ON COLUMN training.ride_records.battery_pct IS 'Charge of the battery, %';
COMMENT ON COLUMN training.ride_records.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.ride_records.temperature IS 'Temperature at the device, °C';
COMMENT ON COLUMN training.ride_records.gps_accuracy_m IS 'Accuracy of the position, m';
COMMENT ON COLUMN training.ride_records.front_gear IS 'Number of teeth of the chainring in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records.rear_gear IS 'Number of teeth of the sprocket in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records.account IS 'Name of the account';

CREATE VIEW training.ride_events AS
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
COMMENT ON VIEW training.ride_events IS 'The events of each activity whose FIT file is here, in the order of position: start and stop of the timer, gear changes, alerts, markers.';
COMMENT ON COLUMN training.ride_events.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_events.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_events.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_events.position IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_events.record IS 'Number of the record before it, see fit_messages';
COMMENT ON COLUMN training.ride_events.t IS 'Time of the event';
COMMENT ON COLUMN training.ride_events.event IS 'Kind of the event, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_events.event_type IS 'What the event says, such as start, stop or marker';
COMMENT ON COLUMN training.ride_events.data IS 'Number of the event, no unit: what it means depends on the kind';
COMMENT ON COLUMN training.ride_events.front_gear IS 'Number of teeth of the chainring after a gear change; NULL of other events, and where the device does not tell';
COMMENT ON COLUMN training.ride_events.rear_gear IS 'Number of teeth of the sprocket after a gear change; NULL of other events, and where the device does not tell';
COMMENT ON COLUMN training.ride_events.fields IS 'Every field of the message, see fit_messages';
COMMENT ON COLUMN training.ride_events.account IS 'Name of the account';

CREATE VIEW training.ride_rr_intervals AS
SELECT f.account_id, f.activity_id, f.content_id, m.position, i.place::integer AS place, m.t, i.interval_s,
  sum(i.interval_s) OVER (PARTITION BY f.activity_id ORDER BY m.position, i.place) AS elapsed_s, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hrv' OFFSET 0
) m
CROSS JOIN LATERAL (
  SELECT e.place, (e.value)::double precision AS interval_s
  FROM jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'time') WHEN 'array' THEN m.fields -> 'time' END) WITH ORDINALITY AS e (value, place)
  WHERE jsonb_typeof(e.value) = 'number'
) i
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON VIEW training.ride_rr_intervals IS 'The time from each heartbeat to the next (R-R interval) of each activity whose FIT file is here and whose device wrote them, in the order of position and place.';
COMMENT ON COLUMN training.ride_rr_intervals.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_rr_intervals.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_rr_intervals.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_rr_intervals.position IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_rr_intervals.place IS 'Place of the interval in the message, from 1';
COMMENT ON COLUMN training.ride_rr_intervals.t IS 'Time of the record before the message, which was written within about a second of it';
COMMENT ON COLUMN training.ride_rr_intervals.interval_s IS 'Time between two heartbeats, s; a long one often is a beat that the sensor missed';
COMMENT ON COLUMN training.ride_rr_intervals.elapsed_s IS 'Sum of the intervals of the activity up to this one, s';
COMMENT ON COLUMN training.ride_rr_intervals.account IS 'Name of the account';

CREATE VIEW training.ride_lengths AS
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

CREATE VIEW training.ride_time_in_zones AS
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
COMMENT ON VIEW training.ride_time_in_zones IS 'The time in each zone as the device summed it up, by session and lap, of each activity whose FIT file is here. By the zones of the device, not those of activity_intensity.';
COMMENT ON COLUMN training.ride_time_in_zones.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_time_in_zones.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_time_in_zones.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_time_in_zones.position IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_time_in_zones.span IS 'What it sums up: session or lap';
COMMENT ON COLUMN training.ride_time_in_zones.span_index IS 'Number of that session or lap, from 0';
COMMENT ON COLUMN training.ride_time_in_zones.measure IS 'hr, power, cadence or speed';
COMMENT ON COLUMN training.ride_time_in_zones.zone IS 'Number of the zone, from 1: the first is what lies below all zones of some devices';
COMMENT ON COLUMN training.ride_time_in_zones.seconds IS 'Time in the zone, s';
COMMENT ON COLUMN training.ride_time_in_zones.account IS 'Name of the account';

CREATE VIEW training.ride_profiles AS
SELECT f.account_id, f.activity_id, f.content_id, m.position,
  CASE jsonb_typeof(m.fields -> 'age') WHEN 'number' THEN (m.fields -> 'age')::double precision END AS age,
  CASE m.fields -> 'gender' WHEN '0' THEN 'female' WHEN '1' THEN 'male' ELSE m.fields ->> 'gender' END AS gender,
  CASE jsonb_typeof(m.fields -> 'height') WHEN 'number' THEN (m.fields -> 'height')::double precision END AS height_m,
  CASE jsonb_typeof(m.fields -> 'weight') WHEN 'number' THEN (m.fields -> 'weight')::double precision END AS weight_kg,
  CASE jsonb_typeof(m.fields -> 'restingHeartRate') WHEN 'number' THEN (m.fields -> 'restingHeartRate')::double precision END AS resting_hr,
  CASE jsonb_typeof(m.fields -> 'defaultMaxHeartRate') WHEN 'number' THEN (m.fields -> 'defaultMaxHeartRate')::double precision END AS max_hr,
  CASE jsonb_typeof(m.fields -> 'defaultMaxBikingHeartRate') WHEN 'number' THEN (m.fields -> 'defaultMaxBikingHeartRate')::double precision END AS max_hr_cycling,
  CASE jsonb_typeof(m.fields -> 'defaultMaxRunningHeartRate') WHEN 'number' THEN (m.fields -> 'defaultMaxRunningHeartRate')::double precision END AS max_hr_running, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'userProfile' OFFSET 0
) m
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON VIEW training.ride_profiles IS 'What the device knew of its rider at each activity whose FIT file is here.';
COMMENT ON COLUMN training.ride_profiles.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_profiles.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_profiles.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_profiles.position IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_profiles.age IS 'Age, years';
COMMENT ON COLUMN training.ride_profiles.gender IS 'Gender, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_profiles.height_m IS 'Height, m';
COMMENT ON COLUMN training.ride_profiles.weight_kg IS 'Weight, kg';
COMMENT ON COLUMN training.ride_profiles.resting_hr IS 'Heart rate at rest, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr_cycling IS 'Highest heart rate on the bicycle, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr_running IS 'Highest heart rate when running, 1/min';
COMMENT ON COLUMN training.ride_profiles.account IS 'Name of the account';

CREATE OR REPLACE VIEW training.fit_field_values AS
SELECT f.account_id, f.activity_id, f.content_id, x.name AS field, x.units, f.started_at + v.offset_s * interval '1 second' AS t, v.value,
  x.position, x.developer_index, x.field_number, a.name AS account,
  coalesce(v.record, CASE WHEN x.count = f.records THEN v.place END)::integer AS record, x.others -> v.place::text AS other
FROM training.ride_files f
JOIN training.fit_fields x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL unnest(x.offsets_s, x."values", x.records) WITH ORDINALITY AS v (offset_s, value, record, place)
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON COLUMN training.fit_field_values.value IS 'The value, in units; NULL where it is no number, see other';
COMMENT ON COLUMN training.fit_field_values.record IS 'Number of the record, see position of fit_records; NULL where it is not known, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.other IS 'The value where it is no number: a text, a list, a whole number beyond 2^53';
COMMENT ON VIEW training.fit_field_values IS 'The values of the fields of fit_fields, of each activity whose FIT file is here, one row a value.';
COMMENT ON VIEW training.ride_files IS 'The FIT file of each activity that has one here: of several the one that was uploaded, and not one that the service called a duplicate of it. Join fit_laps, fit_sessions, fit_devices and fit_fields by account_id and content_id; ride_records, ride_events and the other views of its messages have joined it already.';
