-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.ride_profiles AS
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

-- Comments, last changed by 0016_fit_records
COMMENT ON VIEW training.ride_profiles IS 'What the device knew of its rider at each activity whose FIT file is here.';
COMMENT ON COLUMN training.ride_profiles.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_profiles.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_profiles.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_profiles."position" IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_profiles.age IS 'Age, years';
COMMENT ON COLUMN training.ride_profiles.gender IS 'Gender, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_profiles.height_m IS 'Height, m';
COMMENT ON COLUMN training.ride_profiles.weight_kg IS 'Weight, kg';
COMMENT ON COLUMN training.ride_profiles.resting_hr IS 'Heart rate at rest, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr_cycling IS 'Highest heart rate on the bicycle, 1/min';
COMMENT ON COLUMN training.ride_profiles.max_hr_running IS 'Highest heart rate when running, 1/min';
COMMENT ON COLUMN training.ride_profiles.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_profiles SET (security_invoker=true);
GRANT SELECT ON training.ride_profiles TO musette_one_account, musette_reader;
