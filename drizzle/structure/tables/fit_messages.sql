-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE TABLE training.fit_messages (
  file_id integer NOT NULL,
  "position" integer NOT NULL,
  record integer NOT NULL,
  t timestamp with time zone,
  message text NOT NULL,
  event text,
  event_type text,
  fields jsonb NOT NULL,
  CONSTRAINT fit_messages_file_id_position_pk PRIMARY KEY (file_id, "position"),
  CONSTRAINT fit_messages_file_id_fit_files_file_id_fk FOREIGN KEY (file_id) REFERENCES training.fit_files(file_id) ON DELETE CASCADE
);

-- Comments, last changed by 0016_fit_records
COMMENT ON TABLE training.fit_messages IS 'Every message of each FIT file that passed, but for records, sessions and laps, which have tables of their own: events, R-R intervals, lengths of a pool, time in zones, workout steps, the rider''s profile and settings, battery, and those that the FIT profile does not know. Joined to the activities: ride_events, ride_rr_intervals, ride_lengths, ride_time_in_zones, ride_profiles.';
COMMENT ON COLUMN training.fit_messages.file_id IS 'Key of the file, see fit_files';
COMMENT ON COLUMN training.fit_messages."position" IS 'Number of the message in the file, from 1, records, sessions and laps not counted';
COMMENT ON COLUMN training.fit_messages.record IS 'Number of the record before it, see position of fit_records; 0 before the first';
COMMENT ON COLUMN training.fit_messages.t IS 'Time of the message; of one that gives none, that of the record before it; NULL before the first record';
COMMENT ON COLUMN training.fit_messages.message IS 'Name of the message in the FIT profile; message_N of one that it does not know';
COMMENT ON COLUMN training.fit_messages.event IS 'Kind of an event, in the words of the FIT profile; NULL of other messages';
COMMENT ON COLUMN training.fit_messages.event_type IS 'What the event says, such as start, stop or marker; NULL of other messages';
COMMENT ON COLUMN training.fit_messages.fields IS 'Every field of the message but its time; see fit_laps';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_messages TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_messages AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (file_id IN ( SELECT id.id
   FROM musette.visible_files() id(id)))));
GRANT SELECT ON training.fit_messages TO musette_one_account, musette_reader;
