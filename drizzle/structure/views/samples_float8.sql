-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0041_float8_views
-- Postgres adds real in single precision, which is off by percents over millions of rows.
CREATE OR REPLACE VIEW training.samples_float8 AS
SELECT a.account_id, s.activity_id, s.t, s.power::float8 AS power, s.mpa::float8 AS mpa, s.cad::float8 AS cad, s.alt::float8 AS alt,
  s.hr::float8 AS hr, s.spd::float8 AS spd, s.tgt::float8 AS tgt, s.lat, s.lng, s.dist::float8 AS dist, s.tws::float8 AS tws,
  s.xds::float8 AS xds, s.p_raw::float8 AS p_raw, s.lws::float8 AS lws, s.hws::float8 AS hws, s.pws::float8 AS pws, s.ordinal,
  c.name AS account
FROM training.samples s
JOIN training.activities a ON a.activity_id = s.activity_id
LEFT JOIN training.accounts c ON c.account_id = a.account_id
WHERE a.absent_since IS NULL;

-- Comments, last changed by 0041_float8_views
COMMENT ON VIEW training.samples_float8 IS 'The samples of every activity that the service lists, with all numbers in double precision: sum() of them is exact to 15 digits, that of samples is not.';
COMMENT ON COLUMN training.samples_float8.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.samples_float8.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.samples_float8.t IS 'Time of the sample; a sample whose time cannot be read is not here, but in raw_documents and counted in drift';
COMMENT ON COLUMN training.samples_float8.power IS 'Power, W; a trailing mean of about 5 s, see p_raw';
COMMENT ON COLUMN training.samples_float8.mpa IS 'Maximal power available, W';
COMMENT ON COLUMN training.samples_float8.cad IS 'Cadence, 1/min';
COMMENT ON COLUMN training.samples_float8.alt IS 'Altitude; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples_float8.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.samples_float8.spd IS 'Speed as sent; unit not told by the service, read as m/h and not reliable on runs: derive speed from dist';
COMMENT ON COLUMN training.samples_float8.tgt IS 'Target power of a guided workout; unit not told by the service (read as W)';
COMMENT ON COLUMN training.samples_float8.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.samples_float8.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.samples_float8.dist IS 'Distance so far; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples_float8.tws IS 'Running total of tws, ends at the xss of the activity; unit not told by the service';
COMMENT ON COLUMN training.samples_float8.xds IS 'Sample number xds of the service; unit not told by the service';
COMMENT ON COLUMN training.samples_float8.p_raw IS 'Power of this second before smoothing, W';
COMMENT ON COLUMN training.samples_float8.lws IS 'Sample number lws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples_float8.hws IS 'Sample number hws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples_float8.pws IS 'Sample number pws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples_float8.ordinal IS 'Place among the samples of the activity that share this time, from 1; NULL where no other has it. ORDER BY t, ordinal is the order of sample_extras';
COMMENT ON COLUMN training.samples_float8.account IS 'Name of the account';

-- Rights, last changed by 0041_float8_views
ALTER VIEW training.samples_float8 SET (security_invoker=true);
GRANT SELECT ON training.samples_float8 TO musette_one_account, musette_reader;
