-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0039_tracks_for_pages
CREATE OR REPLACE VIEW training.ride_tracks AS
SELECT t.account_id, t.activity_id, t.length_m, t.points, t.outline, nullif(t.route_id, 0) AS route_id, a.name AS account
FROM musette.ride_tracks t JOIN training.activities v USING (activity_id) JOIN training.accounts a ON a.account_id = t.account_id
WHERE v.absent_since IS NULL;

-- Comments, last changed by 0039_tracks_for_pages
COMMENT ON VIEW training.ride_tracks IS 'Derived: the way of each activity that has samples, by which it is drawn on the map, and its route is found, see route_id of ride_measures.';
COMMENT ON COLUMN training.ride_tracks.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.ride_tracks.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_tracks.length_m IS 'Derived: 50 m for each point; 0 without positions';
COMMENT ON COLUMN training.ride_tracks.points IS 'Derived: a point every 50 m along the positions of the main run, latitude and longitude in turns, millionths of a degree as little-endian int4';
COMMENT ON COLUMN training.ride_tracks.outline IS 'Derived: the 36 of these points, or fewer, that say most of the shape of the way, in the same form';
COMMENT ON COLUMN training.ride_tracks.route_id IS 'Derived: route of the activity, see ride_measures; NULL without one, and until it is found';
COMMENT ON COLUMN training.ride_tracks.account IS 'Name of the account, see accounts';

-- Rights, last changed by 0039_tracks_for_pages
ALTER VIEW training.ride_tracks SET (security_invoker=true);
GRANT SELECT ON training.ride_tracks TO musette_one_account, musette_reader;
