-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE TABLE training.power_curves (
  activity_id integer NOT NULL,
  duration_s integer NOT NULL,
  watts real NOT NULL,
  account_id integer,
  season integer,
  started_at_local timestamp without time zone,
  source text,
  sport text,
  CONSTRAINT power_curves_activity_id_duration_s_pk PRIMARY KEY (activity_id, duration_s),
  CONSTRAINT power_curves_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE,
  CONSTRAINT power_curves_source CHECK (source = ANY (ARRAY['p_raw'::text, 'power'::text]))
);

-- Indexes, last changed by 0019_main_runs_and_sports
CREATE INDEX power_curves_best ON training.power_curves USING btree (account_id, sport, season, duration_s, watts DESC, started_at_local, activity_id);

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON TABLE training.power_curves IS 'Derived: the best mean power of an activity for about 60 durations. A sample lasts until the next one, see sample_spacing_s of ride_intensity; recording gaps count as zero watts.';
COMMENT ON COLUMN training.power_curves.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.power_curves.duration_s IS 'Length of the window, s: 1 to 10 each, 12, 15, 18, 20 to 50 by 5, 60, 75, 90, 105, 120, 150, 180, 210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1080, 1200, 1500, 1800, 2100, 2400, 2700, 3000, 3600, 4500, 5400, 6300, 7200, 9000, 10800, 12600, 14400, 18000, 21600, 25200, 28800, 36000 and 43200, as far as the activity is longer, and one point more at its own length, which is no length of other activities and not in power_bests';
COMMENT ON COLUMN training.power_curves.watts IS 'Best mean power in any window of that length, W; from p_raw where the activity has it, else from power, see source. Recording gaps and seconds without power count as zero watts; of several samples in one second the last counts. Strays are left out, see stray_samples of activities';
COMMENT ON COLUMN training.power_curves.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.power_curves.season IS 'Derived: calendar year of the activity on its own wall clock; NULL when its start cannot be read. For the view power_bests';
COMMENT ON COLUMN training.power_curves.started_at_local IS 'Start of the activity on its own wall clock; NULL when it cannot be read. For the view power_bests';
COMMENT ON COLUMN training.power_curves.source IS 'Column of samples that the point was computed from: p_raw (power of each second) or power (mean of 5 s), which is lower over short durations; NULL when it is not known any more';
COMMENT ON COLUMN training.power_curves.sport IS 'Derived: kind of sport of the activity, see activities. For the view power_bests';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.power_curves ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.power_curves TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.power_curves AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.power_curves TO musette_one_account, musette_reader;
