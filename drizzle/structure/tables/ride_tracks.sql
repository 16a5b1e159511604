-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE TABLE musette.ride_tracks (
  activity_id integer NOT NULL,
  account_id integer NOT NULL,
  sport text NOT NULL,
  length_m integer NOT NULL,
  points bytea NOT NULL,
  outline bytea NOT NULL,
  route_id integer,
  CONSTRAINT ride_tracks_pkey PRIMARY KEY (activity_id),
  CONSTRAINT ride_tracks_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT ride_tracks_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);

-- Indexes, last changed by 0032_routes
CREATE INDEX ride_tracks_length ON musette.ride_tracks USING btree (account_id, sport, length_m);
CREATE INDEX ride_tracks_route ON musette.ride_tracks USING btree (route_id, activity_id);

-- Triggers, last changed by 0032_routes
-- renew_route: functions/renew_route.sql
-- renew_routes: functions/renew_route.sql

-- Comments, last changed by 0032_routes
COMMENT ON TABLE musette.ride_tracks IS 'Derived: the way of each activity that has samples, by which it is drawn on the map, and its route is found, see route_id of ride_measures.';
COMMENT ON COLUMN musette.ride_tracks.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN musette.ride_tracks.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN musette.ride_tracks.sport IS 'Derived: kind of sport of the activity, see activities';
COMMENT ON COLUMN musette.ride_tracks.length_m IS 'Derived: 50 m for each point; 0 without positions';
COMMENT ON COLUMN musette.ride_tracks.points IS 'Derived: a point every 50 m along the positions of the main run, latitude and longitude in turns, millionths of a degree as little-endian int4';
COMMENT ON COLUMN musette.ride_tracks.outline IS 'Derived: the 36 of these points, or fewer, that say most of the shape of the way, in the same form';
COMMENT ON COLUMN musette.ride_tracks.route_id IS 'Derived: route of the activity, see ride_measures, which follows; 0 without one, NULL until it is found, at first and after a change';

-- Rights, last changed by 0039_tracks_for_pages
ALTER TABLE musette.ride_tracks ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON musette.ride_tracks TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON musette.ride_tracks AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON musette.ride_tracks TO PUBLIC;
