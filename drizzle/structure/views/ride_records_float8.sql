-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0041_float8_views
CREATE OR REPLACE VIEW training.ride_records_float8 AS
SELECT account_id,
    activity_id,
    content_id,
    "position",
    t,
    lat,
    lng,
    distance_m,
    altitude_m::double precision AS altitude_m,
    speed_mps::double precision AS speed_mps,
    power::double precision AS power,
    cadence::double precision AS cadence,
    grade_pct::double precision AS grade_pct,
    vertical_speed_mps::double precision AS vertical_speed_mps,
    calories_kcal::double precision AS calories_kcal,
    core_temperature::double precision AS core_temperature,
    respiration_rate::double precision AS respiration_rate,
    right_power_pct::double precision AS right_power_pct,
    left_torque_effectiveness_pct::double precision AS left_torque_effectiveness_pct,
    right_torque_effectiveness_pct::double precision AS right_torque_effectiveness_pct,
    left_pedal_smoothness_pct::double precision AS left_pedal_smoothness_pct,
    right_pedal_smoothness_pct::double precision AS right_pedal_smoothness_pct,
    combined_pedal_smoothness_pct::double precision AS combined_pedal_smoothness_pct,
    left_pco_mm::double precision AS left_pco_mm,
    right_pco_mm::double precision AS right_pco_mm,
    left_power_phase_start_deg::double precision AS left_power_phase_start_deg,
    left_power_phase_end_deg::double precision AS left_power_phase_end_deg,
    left_power_phase_peak_start_deg::double precision AS left_power_phase_peak_start_deg,
    left_power_phase_peak_end_deg::double precision AS left_power_phase_peak_end_deg,
    right_power_phase_start_deg::double precision AS right_power_phase_start_deg,
    right_power_phase_end_deg::double precision AS right_power_phase_end_deg,
    right_power_phase_peak_start_deg::double precision AS right_power_phase_peak_start_deg,
    right_power_phase_peak_end_deg::double precision AS right_power_phase_peak_end_deg,
    vertical_oscillation_mm::double precision AS vertical_oscillation_mm,
    vertical_ratio_pct::double precision AS vertical_ratio_pct,
    stance_time_ms::double precision AS stance_time_ms,
    stance_time_pct::double precision AS stance_time_pct,
    stance_time_balance_pct::double precision AS stance_time_balance_pct,
    step_length_mm::double precision AS step_length_mm,
    muscle_oxygen_pct::double precision AS muscle_oxygen_pct,
    total_hemoglobin::double precision AS total_hemoglobin,
    battery_pct::double precision AS battery_pct,
    hr,
    temperature,
    gps_accuracy_m,
    front_gear,
    rear_gear,
    account
   FROM training.ride_records;

-- Comments, last changed by 0041_float8_views
COMMENT ON VIEW training.ride_records_float8 IS 'ride_records with all numbers in double precision: sum() of them is exact to 15 digits, that of ride_records is not. Ask for one activity, or give them one by one.';
COMMENT ON COLUMN training.ride_records_float8.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_records_float8.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_records_float8.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_records_float8."position" IS 'Number of the record in the file, from 1';
COMMENT ON COLUMN training.ride_records_float8.t IS 'Time of the record; NULL of one that gives none';
COMMENT ON COLUMN training.ride_records_float8.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.ride_records_float8.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.ride_records_float8.distance_m IS 'Distance so far, m';
COMMENT ON COLUMN training.ride_records_float8.altitude_m IS 'Altitude, m; the field enhancedAltitude where the record has it, else altitude';
COMMENT ON COLUMN training.ride_records_float8.speed_mps IS 'Speed, m/s; the field enhancedSpeed where the record has it, else speed';
COMMENT ON COLUMN training.ride_records_float8.power IS 'Power, W';
COMMENT ON COLUMN training.ride_records_float8.cadence IS 'Cadence, 1/min, with its fraction where the record has one';
COMMENT ON COLUMN training.ride_records_float8.grade_pct IS 'Grade, %';
COMMENT ON COLUMN training.ride_records_float8.vertical_speed_mps IS 'Vertical speed, m/s';
COMMENT ON COLUMN training.ride_records_float8.calories_kcal IS 'Energy so far, kcal';
COMMENT ON COLUMN training.ride_records_float8.core_temperature IS 'Core temperature of the body, °C; of sensors that write it as a field of an app see fit_fields';
COMMENT ON COLUMN training.ride_records_float8.respiration_rate IS 'Breaths, 1/min; the field enhancedRespirationRate where the record has it, else respirationRate';
COMMENT ON COLUMN training.ride_records_float8.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it measured';
COMMENT ON COLUMN training.ride_records_float8.left_torque_effectiveness_pct IS 'Torque effectiveness of the left leg, %';
COMMENT ON COLUMN training.ride_records_float8.right_torque_effectiveness_pct IS 'Torque effectiveness of the right leg, %';
COMMENT ON COLUMN training.ride_records_float8.left_pedal_smoothness_pct IS 'Pedal smoothness of the left leg, %';
COMMENT ON COLUMN training.ride_records_float8.right_pedal_smoothness_pct IS 'Pedal smoothness of the right leg, %';
COMMENT ON COLUMN training.ride_records_float8.combined_pedal_smoothness_pct IS 'Pedal smoothness of both legs, %';
COMMENT ON COLUMN training.ride_records_float8.left_pco_mm IS 'Platform centre offset of the left foot, mm; outwards is positive';
COMMENT ON COLUMN training.ride_records_float8.right_pco_mm IS 'Platform centre offset of the right foot, mm; outwards is positive';
COMMENT ON COLUMN training.ride_records_float8.left_power_phase_start_deg IS 'Angle of the crank at which the left leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.left_power_phase_end_deg IS 'Angle of the crank at which the left leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.left_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the left leg begins, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.left_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.right_power_phase_start_deg IS 'Angle of the crank at which the right leg begins to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.right_power_phase_end_deg IS 'Angle of the crank at which the right leg ends to drive, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.right_power_phase_peak_start_deg IS 'Angle at which the half with the most power of the right leg begins, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.right_power_phase_peak_end_deg IS 'Angle at which that half ends, degrees from the top';
COMMENT ON COLUMN training.ride_records_float8.vertical_oscillation_mm IS 'Up and down of the runner in a step, mm';
COMMENT ON COLUMN training.ride_records_float8.vertical_ratio_pct IS 'Vertical oscillation by step length, %';
COMMENT ON COLUMN training.ride_records_float8.stance_time_ms IS 'Ground contact in a step, ms';
COMMENT ON COLUMN training.ride_records_float8.stance_time_pct IS 'Share of a step with ground contact, %';
COMMENT ON COLUMN training.ride_records_float8.stance_time_balance_pct IS 'Share of the left foot in the ground contact, %';
COMMENT ON COLUMN training.ride_records_float8.step_length_mm IS 'Step length, mm';
COMMENT ON COLUMN training.ride_records_float8.muscle_oxygen_pct IS 'Saturated hemoglobin of the muscle, %';
COMMENT ON COLUMN training.ride_records_float8.total_hemoglobin IS 'Total hemoglobin of the muscle, g/dl';
COMMENT ON COLUMN training.ride_records_float8.battery_pct IS 'Charge of the battery, %';
COMMENT ON COLUMN training.ride_records_float8.hr IS 'Heart rate, 1/min, see fit_records';
COMMENT ON COLUMN training.ride_records_float8.temperature IS 'Temperature at the device, °C';
COMMENT ON COLUMN training.ride_records_float8.gps_accuracy_m IS 'Accuracy of the position, m';
COMMENT ON COLUMN training.ride_records_float8.front_gear IS 'Number of teeth of the chainring in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records_float8.rear_gear IS 'Number of teeth of the sprocket in use, by the last gear change before the record; NULL before the first one';
COMMENT ON COLUMN training.ride_records_float8.account IS 'Name of the account';

-- Rights, last changed by 0041_float8_views
ALTER VIEW training.ride_records_float8 SET (security_invoker=true);
GRANT SELECT ON training.ride_records_float8 TO musette_one_account, musette_reader;
