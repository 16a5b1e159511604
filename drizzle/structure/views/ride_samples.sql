-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE VIEW training.ride_samples AS
SELECT a.account_id, a.activity_id, s.t, s.from_s, s.held_s, s.power, s.mpa, s.cad, s.alt, s.hr, s.spd, s.tgt, s.lat, s.lng, s.dist, s.tws, s.xds, s.p_raw, s.lws, s.hws, s.pws, s.ordinal, c.name AS account
FROM training.activities a
LEFT JOIN training.accounts c ON c.account_id = a.account_id
LEFT JOIN training.activity_intensity i ON i.activity_id = a.activity_id
CROSS JOIN LATERAL (
  SELECT *, extract(epoch FROM t - min(t) OVER w)::float8 AS from_s,
    CASE WHEN step < 2 * coalesce(i.sample_spacing_s, 1) THEN step ELSE coalesce(i.sample_spacing_s, 1) END AS held_s
  FROM (
    SELECT *, extract(epoch FROM date_trunc('second', lead(t) OVER (ORDER BY t, ordinal)) - date_trunc('second', t))::int AS step
    FROM training.samples
    WHERE samples.activity_id = a.activity_id AND t IS NOT NULL AND training.in_main_run(t, a.recorded_from, a.elapsed_s)
  ) each
  WINDOW w AS (ORDER BY t, ordinal)
) s
WHERE a.absent_since IS NULL;

-- Comments, last changed by 0041_float8_views
COMMENT ON VIEW training.ride_samples IS 'The samples of each activity without strays, see stray_samples of activities, with the seconds that each lasts. Ask for one activity, or give them one by one. Postgres adds columns of type real in single precision: write sum(power::float8), or sum from samples_float8. avg() is exact.';
COMMENT ON COLUMN training.ride_samples.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_samples.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_samples.t IS 'Time of the sample; a sample whose time cannot be read is not here, but in raw_documents and counted in drift';
COMMENT ON COLUMN training.ride_samples.from_s IS 'Derived: seconds since the first sample of the main run';
COMMENT ON COLUMN training.ride_samples.held_s IS 'Derived: seconds that the sample lasts, until the next one when that is less than two of sample_spacing_s away, see activity_intensity; 0 where another of the same second follows. Sum it to count time';
COMMENT ON COLUMN training.ride_samples.power IS 'Power, W; a trailing mean of about 5 s, see p_raw';
COMMENT ON COLUMN training.ride_samples.mpa IS 'Maximal power available, W';
COMMENT ON COLUMN training.ride_samples.cad IS 'Cadence, 1/min';
COMMENT ON COLUMN training.ride_samples.alt IS 'Altitude; unit not told by the service (read as m)';
COMMENT ON COLUMN training.ride_samples.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.ride_samples.spd IS 'Speed as sent; unit not told by the service, read as m/h and not reliable on runs: derive speed from dist';
COMMENT ON COLUMN training.ride_samples.tgt IS 'Target power of a guided workout; unit not told by the service (read as W)';
COMMENT ON COLUMN training.ride_samples.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.ride_samples.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.ride_samples.dist IS 'Distance so far; unit not told by the service (read as m)';
COMMENT ON COLUMN training.ride_samples.tws IS 'Running total of tws, ends at the xss of the activity; unit not told by the service';
COMMENT ON COLUMN training.ride_samples.xds IS 'Sample number xds of the service; unit not told by the service';
COMMENT ON COLUMN training.ride_samples.p_raw IS 'Power of this second before smoothing, W';
COMMENT ON COLUMN training.ride_samples.lws IS 'Sample number lws of the service; unit not told by the service';
COMMENT ON COLUMN training.ride_samples.hws IS 'Sample number hws of the service; unit not told by the service';
COMMENT ON COLUMN training.ride_samples.pws IS 'Sample number pws of the service; unit not told by the service';
COMMENT ON COLUMN training.ride_samples.ordinal IS 'Place among the samples of the activity that share this time, from 1; NULL where no other has it. ORDER BY t, ordinal is the order of sample_extras';
COMMENT ON COLUMN training.ride_samples.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_samples SET (security_invoker=true);
GRANT SELECT ON training.ride_samples TO musette_one_account, musette_reader;
