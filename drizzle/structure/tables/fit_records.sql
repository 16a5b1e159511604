-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE TABLE training.fit_records (
  t timestamp with time zone,
  lat double precision,
  lng double precision,
  distance_m double precision,
  file_id integer NOT NULL,
  "position" integer NOT NULL,
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
) WITH (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
ALTER TABLE training.fit_records ALTER COLUMN lat SET STATISTICS 0;
ALTER TABLE training.fit_records ALTER COLUMN lng SET STATISTICS 0;
ALTER TABLE training.fit_records ALTER COLUMN file_id SET STATISTICS 10;
ALTER TABLE training.fit_records REPLICA IDENTITY FULL;

-- Indexes, last changed by 0016_fit_records
CREATE INDEX fit_records_file ON training.fit_records USING brin (file_id int4_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='true');

-- Comments, last changed by 0041_float8_views
COMMENT ON TABLE training.fit_records IS 'Every record of each FIT file that passed, as the head unit wrote it, about one a second. What has no column here, and what apps and sensors added, is in fit_fields. Joined to the activities: the view ride_records. To join by hand, give the files one by one: FROM ride_files … CROSS JOIN LATERAL (SELECT … FROM fit_records WHERE file_id = …) r. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from ride_records_float8. avg() is exact.';
COMMENT ON COLUMN training.fit_records.t IS 'Time of the record; NULL of one that gives none';
COMMENT ON COLUMN training.fit_records.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.fit_records.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.fit_records.distance_m IS 'Distance so far, m';
COMMENT ON COLUMN training.fit_records.file_id IS 'Key of the file, see fit_files';
COMMENT ON COLUMN training.fit_records."position" IS 'Number of the record in the file, from 1';
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
COMMENT ON COLUMN training.fit_records.hr IS 'Heart rate, 1/min; where a strap kept the beats and sent them later, as in water, their mean since the record before, and a heart rate that the record had itself is in fit_fields';
COMMENT ON COLUMN training.fit_records.temperature IS 'Temperature at the device, °C';
COMMENT ON COLUMN training.fit_records.gps_accuracy_m IS 'Accuracy of the position, m';
COMMENT ON COLUMN training.fit_records.front_gear IS 'Number of teeth of the chainring in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.fit_records.rear_gear IS 'Number of teeth of the sprocket in use, by the last gear change before the record; NULL before the first one';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_records ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_records TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_records AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (file_id IN ( SELECT id.id
   FROM musette.visible_files() id(id)))));
GRANT SELECT ON training.fit_records TO musette_one_account, musette_reader;
