-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.fit_sessions (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  "position" integer NOT NULL,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  sport text,
  sub_sport text,
  elapsed_s double precision,
  timer_s double precision,
  moving_s double precision,
  distance_m double precision,
  work_j double precision,
  calories_kcal double precision,
  ascent_m double precision,
  descent_m double precision,
  avg_power double precision,
  max_power double precision,
  weighted_power double precision,
  right_power_pct double precision,
  avg_hr double precision,
  max_hr double precision,
  min_hr double precision,
  avg_cadence double precision,
  max_cadence double precision,
  avg_speed_mps double precision,
  max_speed_mps double precision,
  avg_temperature double precision,
  max_temperature double precision,
  start_lat double precision,
  start_lng double precision,
  end_lat double precision,
  end_lng double precision,
  fields jsonb NOT NULL,
  CONSTRAINT fit_sessions_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, "position"),
  CONSTRAINT fit_sessions_file FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files(account_id, content_id) ON DELETE CASCADE
);

-- Comments, last changed by 0008_fit_field_places
COMMENT ON TABLE training.fit_sessions IS 'The sessions of a FIT file as the device summed them up: one for a ride, several for a multisport activity.';
COMMENT ON COLUMN training.fit_sessions.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_sessions.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_sessions."position" IS 'Place of the session in the file, from 1';
COMMENT ON COLUMN training.fit_sessions.started_at IS 'Start';
COMMENT ON COLUMN training.fit_sessions.ended_at IS 'End, the time of the message';
COMMENT ON COLUMN training.fit_sessions.sport IS 'Sport, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_sessions.sub_sport IS 'Kind of the sport, in the words of the FIT profile';
COMMENT ON COLUMN training.fit_sessions.elapsed_s IS 'Time from start to end, pauses included, s';
COMMENT ON COLUMN training.fit_sessions.timer_s IS 'Time while the timer ran, s';
COMMENT ON COLUMN training.fit_sessions.moving_s IS 'Time in motion, s; few devices write it';
COMMENT ON COLUMN training.fit_sessions.distance_m IS 'Distance, m';
COMMENT ON COLUMN training.fit_sessions.work_j IS 'Work, J';
COMMENT ON COLUMN training.fit_sessions.calories_kcal IS 'Energy, kcal';
COMMENT ON COLUMN training.fit_sessions.ascent_m IS 'Climbed height, m';
COMMENT ON COLUMN training.fit_sessions.descent_m IS 'Descended height, m';
COMMENT ON COLUMN training.fit_sessions.avg_power IS 'Mean power, W';
COMMENT ON COLUMN training.fit_sessions.max_power IS 'Highest power, W';
COMMENT ON COLUMN training.fit_sessions.weighted_power IS 'Weighted mean power as the device computed it, W (normalized_power of the FIT profile)';
COMMENT ON COLUMN training.fit_sessions.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it is';
COMMENT ON COLUMN training.fit_sessions.avg_hr IS 'Mean heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.min_hr IS 'Lowest heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.avg_cadence IS 'Mean cadence, 1/min';
COMMENT ON COLUMN training.fit_sessions.max_cadence IS 'Highest cadence, 1/min';
COMMENT ON COLUMN training.fit_sessions.avg_speed_mps IS 'Mean speed, m/s';
COMMENT ON COLUMN training.fit_sessions.max_speed_mps IS 'Highest speed, m/s';
COMMENT ON COLUMN training.fit_sessions.avg_temperature IS 'Mean temperature, °C';
COMMENT ON COLUMN training.fit_sessions.max_temperature IS 'Highest temperature, °C';
COMMENT ON COLUMN training.fit_sessions.start_lat IS 'Latitude of the start, degrees';
COMMENT ON COLUMN training.fit_sessions.start_lng IS 'Longitude of the start, degrees';
COMMENT ON COLUMN training.fit_sessions.end_lat IS 'Latitude of the end, degrees';
COMMENT ON COLUMN training.fit_sessions.end_lng IS 'Longitude of the end, degrees';
COMMENT ON COLUMN training.fit_sessions.fields IS 'Every field of the message by its name in the FIT profile, in the unit of the profile, enumerations as numbers; field_N is a field that the profile does not know, as its raw number. Fields of developers are in developer_fields, by their own names; where two have one name, the second is NAME_A_N with the numbers of its app and field, see fit_fields';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_sessions TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_sessions AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.fit_sessions TO musette_one_account, musette_reader;
