-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.ride_records AS
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

-- Comments, last changed by 0041_float8_views
COMMENT ON VIEW training.ride_records IS 'Every record of the FIT file of each activity that has one here, see ride_files and fit_records. Ask for one activity, or give them one by one. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from ride_records_float8. avg() is exact.';
COMMENT ON COLUMN training.ride_records.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_records.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_records.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_records."position" IS 'Number of the record in the file, from 1';
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
COMMENT ON COLUMN training.ride_records.hr IS 'Heart rate, 1/min, see fit_records';
COMMENT ON COLUMN training.ride_records.temperature IS 'Temperature at the device, °C';
COMMENT ON COLUMN training.ride_records.gps_accuracy_m IS 'Accuracy of the position, m';
COMMENT ON COLUMN training.ride_records.front_gear IS 'Number of teeth of the chainring in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records.rear_gear IS 'Number of teeth of the sprocket in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_records SET (security_invoker=true);
GRANT SELECT ON training.ride_records TO musette_one_account, musette_reader;
