-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0020_settled_beside_readers
CREATE TABLE training.samples (
  t timestamp with time zone,
  lat double precision,
  lng double precision,
  activity_id integer NOT NULL,
  power real,
  mpa real,
  cad real,
  alt real,
  hr real,
  spd real,
  tgt real,
  dist real,
  tws real,
  xds real,
  p_raw real,
  lws real,
  hws real,
  pws real,
  ordinal integer
) WITH (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
ALTER TABLE training.samples ALTER COLUMN lat SET STATISTICS 0;
ALTER TABLE training.samples ALTER COLUMN lng SET STATISTICS 0;
ALTER TABLE training.samples ALTER COLUMN activity_id SET STATISTICS 10;
ALTER TABLE training.samples REPLICA IDENTITY FULL;

-- Indexes, last changed by 0000_schema
CREATE INDEX samples_activity ON training.samples USING brin (activity_id int4_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='true');
CREATE INDEX samples_t ON training.samples USING brin (t timestamptz_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='true');

-- Comments, last changed by 0041_float8_views
COMMENT ON TABLE training.samples IS 'One row a second of an activity as the service sent it. An activity has all of its samples or none: they are replaced together. BRIN indexes on activity_id and t make both quick to select by. To join, give the activities one by one: FROM activities a CROSS JOIN LATERAL (SELECT … FROM samples WHERE activity_id = a.activity_id) s; a plain JOIN of a few activities may read the whole table. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from samples_float8. avg() is exact.';
COMMENT ON COLUMN training.samples.t IS 'Time of the sample; a sample whose time cannot be read is not here, but in raw_documents and counted in drift';
COMMENT ON COLUMN training.samples.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.samples.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.samples.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.samples.power IS 'Power, W; a trailing mean of about 5 s, see p_raw';
COMMENT ON COLUMN training.samples.mpa IS 'Maximal power available, W';
COMMENT ON COLUMN training.samples.cad IS 'Cadence, 1/min';
COMMENT ON COLUMN training.samples.alt IS 'Altitude; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.samples.spd IS 'Speed as sent; unit not told by the service, read as m/h and not reliable on runs: derive speed from dist';
COMMENT ON COLUMN training.samples.tgt IS 'Target power of a guided workout; unit not told by the service (read as W)';
COMMENT ON COLUMN training.samples.dist IS 'Distance so far; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples.tws IS 'Running total of tws, ends at the xss of the activity; unit not told by the service';
COMMENT ON COLUMN training.samples.xds IS 'Sample number xds of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.p_raw IS 'Power of this second before smoothing, W';
COMMENT ON COLUMN training.samples.lws IS 'Sample number lws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.hws IS 'Sample number hws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.pws IS 'Sample number pws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.ordinal IS 'Place among the samples of the activity that share this time, from 1; NULL where no other has it. ORDER BY t, ordinal is the order of sample_extras';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.samples ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.samples TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.samples AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.samples TO musette_one_account, musette_reader;
