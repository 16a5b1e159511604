-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0032_routes
CREATE TABLE training.ride_measures (
  activity_id integer NOT NULL,
  account_id integer NOT NULL,
  moving_s integer,
  coasting_s integer,
  coasting_pct double precision,
  work_kj double precision,
  mean_power double precision,
  weighted_power double precision,
  variability double precision,
  intensity double precision,
  mean_hr double precision,
  efficiency double precision,
  decoupling_pct double precision,
  hr_drift_pct double precision,
  ascent_m double precision,
  descent_m double precision,
  longest_climb_from_s integer,
  longest_climb_s integer,
  longest_climb_gain_m double precision,
  longest_climb_length_m double precision,
  longest_climb_grade_pct double precision,
  longest_climb_vam double precision,
  steepest_climb_from_s integer,
  steepest_climb_s integer,
  steepest_climb_gain_m double precision,
  steepest_climb_length_m double precision,
  steepest_climb_grade_pct double precision,
  steepest_climb_vam double precision,
  best_hr_1_min double precision,
  best_hr_5_min double precision,
  best_hr_20_min double precision,
  best_hr_60_min double precision,
  best_speed_1_min double precision,
  best_speed_5_min double precision,
  best_speed_20_min double precision,
  best_speed_60_min double precision,
  best_1_min_after_1000_kj double precision,
  best_5_min_after_1000_kj double precision,
  best_20_min_after_1000_kj double precision,
  best_1_min_after_2000_kj double precision,
  best_5_min_after_2000_kj double precision,
  best_20_min_after_2000_kj double precision,
  best_1_min_after_3000_kj double precision,
  best_5_min_after_3000_kj double precision,
  best_20_min_after_3000_kj double precision,
  cadence_s integer[],
  cadence_work_kj double precision[],
  route_id integer,
  CONSTRAINT ride_measures_pkey PRIMARY KEY (activity_id),
  CONSTRAINT ride_measures_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT ride_measures_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);

-- Triggers, last changed by 0032_routes
-- keep_route: functions/keep_route.sql

-- Comments, last changed by 0032_routes
COMMENT ON TABLE training.ride_measures IS 'Derived: what riders compute from samples again and again, computed once when the samples are written; one row an activity that has samples. A sample counts for the seconds until the next one, see sample_spacing_s of activity_intensity, and of several in one second the last. Recording gaps are no time that counts, but a second without a value is 0 in a best mean and in a mean of 30 s, as in power_curves. Power is p_raw where the activity has it, else power; heart rates below 1 and from 251 on are none. Columns are NULL where their values are not known. ride_overview has these beside day and name, with TRIMP.';
COMMENT ON COLUMN training.ride_measures.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_measures.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.ride_measures.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s. Where dist falls back, or jumps by more than 50 m/s, it is off, which is no way, until it goes on from its highest, so that nothing is ridden twice; when it is off for more than 10 s, it begins anew. NULL without dist';
COMMENT ON COLUMN training.ride_measures.coasting_s IS 'Derived: seconds of moving_s without pedalling: cad is 0, where the activity has no cad its power is 0 or less; NULL when that is not known of any second in motion';
COMMENT ON COLUMN training.ride_measures.coasting_pct IS 'Derived: 100 * coasting_s / the seconds in motion of which it is known, %';
COMMENT ON COLUMN training.ride_measures.work_kj IS 'Derived: sum of power * seconds / 1000, kJ; NULL without power';
COMMENT ON COLUMN training.ride_measures.mean_power IS 'Derived: mean power, W, of the seconds with power, coasting included; NULL without power';
COMMENT ON COLUMN training.ride_measures.weighted_power IS 'Derived: weighted mean power, W: the fourth root of the mean of the fourth powers of the means of 30 s that end at each second with power, from the 30th second of the activity on (after A. Coggan, 2003); NULL for less than 30 s';
COMMENT ON COLUMN training.ride_measures.variability IS 'Derived: weighted_power / mean_power, no unit; 1 is steady';
COMMENT ON COLUMN training.ride_measures.intensity IS 'Derived: weighted_power / threshold power, no unit; the threshold power is sig_ftp of the activity when its samples were written, see ftp in activity_intensity; NULL when that was unknown or 0';
COMMENT ON COLUMN training.ride_measures.mean_hr IS 'Derived: mean heart rate, 1/min, of the seconds with one; NULL without';
COMMENT ON COLUMN training.ride_measures.efficiency IS 'Derived: weighted_power / mean_hr, W by beats a minute (after J. Friel)';
COMMENT ON COLUMN training.ride_measures.decoupling_pct IS 'Derived: aerobic decoupling, %: 100 * (1 - (mean power / mean heart rate of the second half) / (the same of the first half)) of the seconds with a heart rate and power above 0, so that coasting does not count (after J. Friel, with the mean power). A sample is of the first half when less than half of those seconds are before it. NULL when a half is empty; short activities have one too, so ask for moving_s';
COMMENT ON COLUMN training.ride_measures.hr_drift_pct IS 'Derived: drift of the heart rate, %: 100 * (mean of the second half / mean of the first half - 1) of the seconds with a heart rate, coasting included; halves as in decoupling_pct';
COMMENT ON COLUMN training.ride_measures.ascent_m IS 'Derived: climbed height, m: of the means of alt up to 5 s before and after each sample, to the centimetre, one counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. NULL without alt';
COMMENT ON COLUMN training.ride_measures.descent_m IS 'Derived: descended height, m: the falls between the same heights';
COMMENT ON COLUMN training.ride_measures.longest_climb_from_s IS 'Derived: when the longest climb begins, seconds after the second of the first sample; NULL without a climb. A climb reaches from a low point of the height above a slope of 3 % (alt - 0.03 * dist), the last of equal ones, to its highest point before 10 m of it are lost again, which takes 10 m of descent or 333 m of level road, or before it falls back to the low point. It has 30 m and 300 m at least; of climbs of one length the first counts';
COMMENT ON COLUMN training.ride_measures.longest_climb_s IS 'Derived: how long it takes, s, recording gaps included';
COMMENT ON COLUMN training.ride_measures.longest_climb_gain_m IS 'Derived: height of its end above its beginning, m';
COMMENT ON COLUMN training.ride_measures.longest_climb_length_m IS 'Derived: its length by dist, m';
COMMENT ON COLUMN training.ride_measures.longest_climb_grade_pct IS 'Derived: its mean grade, %: 100 * gain / length';
COMMENT ON COLUMN training.ride_measures.longest_climb_vam IS 'Derived: its mean vertical speed, m/h: gain / seconds * 3600';
COMMENT ON COLUMN training.ride_measures.steepest_climb_from_s IS 'Derived: when the climb with the highest mean grade begins, seconds after the second of the first sample, see longest_climb_from_s for what a climb is; NULL without one';
COMMENT ON COLUMN training.ride_measures.steepest_climb_s IS 'Derived: how long it takes, s, recording gaps included';
COMMENT ON COLUMN training.ride_measures.steepest_climb_gain_m IS 'Derived: height of its end above its beginning, m';
COMMENT ON COLUMN training.ride_measures.steepest_climb_length_m IS 'Derived: its length by dist, m';
COMMENT ON COLUMN training.ride_measures.steepest_climb_grade_pct IS 'Derived: its mean grade, %: 100 * gain / length';
COMMENT ON COLUMN training.ride_measures.steepest_climb_vam IS 'Derived: its mean vertical speed, m/h: gain / seconds * 3600';
COMMENT ON COLUMN training.ride_measures.best_hr_1_min IS 'Derived: highest mean heart rate over 1 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_measures.best_hr_5_min IS 'Derived: highest mean heart rate over 5 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_measures.best_hr_20_min IS 'Derived: highest mean heart rate over 20 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_measures.best_hr_60_min IS 'Derived: highest mean heart rate over 60 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_measures.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_1_min_after_1000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_measures.best_5_min_after_1000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_measures.best_20_min_after_1000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_measures.best_1_min_after_2000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_measures.best_5_min_after_2000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_measures.best_20_min_after_2000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_measures.best_1_min_after_3000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_measures.best_5_min_after_3000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_measures.best_20_min_after_3000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_measures.cadence_s IS 'Derived: element N is the seconds of pedalling at a cadence from 5 (N - 1) to below 5 N /min, up to the highest there was; 0 and from 250 on are not counted; NULL without cadence';
COMMENT ON COLUMN training.ride_measures.cadence_work_kj IS 'Derived: the work in the seconds of cadence_s, kJ; the mean power of a step is 1000 * cadence_work_kj / cadence_s. NULL without power';
COMMENT ON COLUMN training.ride_measures.route_id IS 'Derived: route of the activity, see routes: the activity_id of its founder, the ride of the route with the lowest activity_id, which may be absent. Two activities of one account and sport are alike when each has at least 90 % of its points, one every 50 m, within 60 m of a point of the other in the same direction, wherever they begin; their lengths differ by a sixteenth at most, which tells laps apart up to 15, and each side of the box around them by a tenth of the length. An activity joins the founder with a lower activity_id that it is alike and has the largest share of points in common with, of equal ones the lowest; without one it founds a route. So a new activity, which has a higher activity_id, changes no route of those that are here, and the order in which samples come does not matter. When a founder is deleted or its track changes, the rides of its route are compared again. NULL below 1 km of positions, and until the route is found, seconds after the samples are written';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.ride_measures ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.ride_measures TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.ride_measures AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.ride_measures TO musette_one_account, musette_reader;
