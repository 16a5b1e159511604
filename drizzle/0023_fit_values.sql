ALTER TABLE training.uploads ADD COLUMN other_starts jsonb, ADD COLUMN sent_content_id text;
COMMENT ON COLUMN training.uploads.started_at IS 'Start of the activity, by the FIT content: that of its session, else of its first record; NULL when all times in it count from the start of the device';
COMMENT ON COLUMN training.uploads.other_starts IS 'Further times of the FIT content that a service may take for the start: its first record, the first one since started_at, the start by the clock of the device; after a lost answer the activity is looked for at these, too';
COMMENT ON COLUMN training.uploads.sent_content_id IS 'SHA-256 of what was sent last, hex, when that was the file without the bytes behind its end, because the service had refused it with them; NULL otherwise';
COMMENT ON COLUMN training.fit_files.problem IS 'What could not be read of the file and why, or the bytes that follow its end and are no FIT; NULL when all was read';
COMMENT ON COLUMN training.fit_files.reader_version IS 'Version of the reader that made the rows of the file. From 2 on they have fit_records and fit_messages, from 3 on also values that devices write in odd ways and the beats of swim straps; musette rebuild makes the rows of files of older ones anew, when their bytes are kept';
COMMENT ON COLUMN training.fit_fields.name IS 'Name; of a field of the device that of the FIT profile, or field_N for one that it does not know; NULL of a field of an app that the file does not describe';
COMMENT ON COLUMN training.fit_fields.values IS 'The values as they were written, in units; null where a value is no number, see others. Where a record has several values and the profile one, they are here as a list, and the first one is in the column of fit_records';
COMMENT ON COLUMN training.fit_fields.others IS 'Values that are no numbers (texts, lists, whole numbers beyond 2^53, bytes of a value whose type is not known), by their place in values from 1; NULL where all are numbers';
COMMENT ON COLUMN training.fit_records.hr IS 'Heart rate, 1/min; where a strap kept the beats and sent them later, as in water, their mean since the record before, and a heart rate that the record had itself is in fit_fields';
COMMENT ON COLUMN training.ride_records.hr IS 'Heart rate, 1/min, see fit_records';

CREATE OR REPLACE VIEW training.ride_rr_intervals AS
SELECT f.account_id, f.activity_id, f.content_id, i.position, i.place::integer AS place, i.t, i.interval_s,
  sum(i.interval_s) OVER (PARTITION BY f.activity_id ORDER BY i.position, i.place) AS elapsed_s, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL (
  SELECT m.position, e.place, m.t, (e.value)::double precision AS interval_s
  FROM (
    SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hrv' OFFSET 0
  ) m
  CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'time') WHEN 'array' THEN m.fields -> 'time' END) WITH ORDINALITY AS e (value, place)
  WHERE jsonb_typeof(e.value) = 'number'
  UNION ALL
  SELECT b.position, b.place, b.t, b.beat - b.beat_before
  FROM (
    SELECT m.position, e.place, (e.value)::double precision AS beat,
      m.t + ((e.value)::double precision - (m.fields -> 'eventTimestamp' -> 0)::double precision + coalesce((m.fields ->> 'fractionalTimestamp')::double precision, 0)) * interval '1 second' AS t,
      lag((e.value)::double precision) OVER (ORDER BY m.position, e.place) AS beat_before
    FROM (
      SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hr' OFFSET 0
    ) m
    CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'eventTimestamp') WHEN 'array' THEN m.fields -> 'eventTimestamp' END) WITH ORDINALITY AS e (value, place)
    WHERE jsonb_typeof(e.value) = 'number'
  ) b
  -- The longest interval that an hrv message can hold; behind a longer pause the strap has lost the skin.
  WHERE b.beat > b.beat_before AND b.beat - b.beat_before < 65.535
) i
LEFT JOIN training.accounts a ON a.account_id = f.account_id;
COMMENT ON VIEW training.ride_rr_intervals IS 'The time from each heartbeat to the next (R-R interval) of each activity whose FIT file is here and whose device wrote them, in the order of position and place; of straps that keep the beats, as in water, the time between those.';
COMMENT ON COLUMN training.ride_rr_intervals.t IS 'Time of the record before the message, which was written within about a second of it; of a beat that a strap kept, its own time';
