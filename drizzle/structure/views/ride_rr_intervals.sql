-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0038_antimeridian_and_beats
CREATE OR REPLACE VIEW training.ride_rr_intervals AS
SELECT f.account_id, f.activity_id, f.content_id, i.position, i.place::integer AS place, i.t, i.interval_s,
  sum(i.interval_s) OVER (PARTITION BY f.activity_id ORDER BY i.position, i.place) AS elapsed_s, a.name AS account
FROM training.ride_files f
JOIN training.fit_files x ON x.account_id = f.account_id AND x.content_id = f.content_id
-- The span of the beats that a strap kept: an hrv message of the same time has the same beats.
CROSS JOIN LATERAL (
  SELECT min(m.t) AS first,
    max(m.t + ((m.fields -> 'eventTimestamp' -> -1)::double precision - (m.fields -> 'eventTimestamp' -> 0)::double precision) * interval '1 second') AS last
  FROM training.fit_messages m
  WHERE m.file_id = x.file_id AND m.message = 'hr' AND jsonb_typeof(m.fields -> 'eventTimestamp') = 'array'
) kept
CROSS JOIN LATERAL (
  SELECT m.position, e.place, m.t, (e.value)::double precision AS interval_s
  FROM (
    SELECT * FROM training.fit_messages WHERE fit_messages.file_id = x.file_id AND fit_messages.message = 'hrv' OFFSET 0
  ) m
  CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(m.fields -> 'time') WHEN 'array' THEN m.fields -> 'time' END) WITH ORDINALITY AS e (value, place)
  WHERE jsonb_typeof(e.value) = 'number' AND (m.t BETWEEN kept.first AND kept.last) IS NOT TRUE
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

-- Comments, last changed by 0038_antimeridian_and_beats
COMMENT ON VIEW training.ride_rr_intervals IS 'The time from each heartbeat to the next (R-R interval) of each activity whose FIT file is here and whose device wrote them, in the order of position and place. If a strap kept its beats, as in water, the intervals of that time are between the kept beats, and hrv messages of the same time are left out.';
COMMENT ON COLUMN training.ride_rr_intervals.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_rr_intervals.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_rr_intervals.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_rr_intervals."position" IS 'Number of the message in the file, see fit_messages';
COMMENT ON COLUMN training.ride_rr_intervals.place IS 'Place of the interval in the message, from 1';
COMMENT ON COLUMN training.ride_rr_intervals.t IS 'Time of the record before the message, which was written within about a second of it; of a beat that a strap kept, its own time';
COMMENT ON COLUMN training.ride_rr_intervals.interval_s IS 'Time between two heartbeats, s; a long one often is a beat that the sensor missed';
COMMENT ON COLUMN training.ride_rr_intervals.elapsed_s IS 'Sum of the intervals of the activity up to this one, s';
COMMENT ON COLUMN training.ride_rr_intervals.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_rr_intervals SET (security_invoker=true);
GRANT SELECT ON training.ride_rr_intervals TO musette_one_account, musette_reader;
