-- Where a FIT file begins, which tells a time zone also where the service sends no position; and wall clocks of files that are none.
ALTER TABLE training.fit_files ADD COLUMN start_lat double precision, ADD COLUMN start_lng double precision;
COMMENT ON COLUMN training.fit_files.start_lat IS 'Derived: latitude of the first position in the records, degrees; NULL without one';
COMMENT ON COLUMN training.fit_files.start_lng IS 'Derived: longitude of that position, degrees';
-- The index of fit_records finds the rows of one file at a time.
UPDATE training.fit_files f SET start_lat = p.lat, start_lng = p.lng
FROM training.fit_files g CROSS JOIN LATERAL (
  SELECT r.lat, r.lng FROM training.fit_records r
  WHERE r.file_id = g.file_id AND abs(r.lat) <= 90 AND abs(r.lng) <= 180 AND (r.lat <> 0 OR r.lng <> 0)
  ORDER BY r.position LIMIT 1) p
WHERE g.file_id = f.file_id;
UPDATE training.fit_files SET utc_offset_s = NULL WHERE utc_offset_s = 0 OR utc_offset_s NOT BETWEEN -43200 AND 50400;
COMMENT ON COLUMN training.fit_files.utc_offset_s IS 'Derived: wall clock of the device minus UTC, s, from the times of its activity message (local_timestamp, timestamp); NULL where one is missing, where they are not apart as time zones are (-12 to +14 hours), and where they are equal, as devices write them that know no time zone';
COMMENT ON COLUMN training.activities.timezone_source IS 'Derived: what told timezone; the first that is known counts. service: the service sent a zone, abbreviation or offset other than plain UTC. position: the zone at start_lat, start_lng, or where these are NULL at the first position of the FIT file. file: the offset that the FIT file itself holds. nearest: the zone of the activity nearest in time whose zone one of the former told, within 30 days. setting: accounts.timezone. unknown: nothing, so that the wall clock is UTC. NULL when the start cannot be read, or until it is found after an upgrade';
