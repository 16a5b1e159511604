-- What riders compute from samples again and again. Activities that are here already get their row from their samples, when the
-- daemon starts and in the verb migrate: these sums take a pass over the samples in their order, which plain SQL is slow at.
CREATE TABLE training.ride_measures (
  activity_id integer PRIMARY KEY,
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
  CONSTRAINT ride_measures_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE,
  CONSTRAINT ride_measures_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.ride_measures IS 'Derived: what riders compute from samples again and again, computed once when the samples are written; one row an activity that has samples. A sample counts for the seconds until the next one, see sample_spacing_s of activity_intensity, and of several in one second the last. Recording gaps are no time that counts, but a second without a value is 0 in a best mean and in a mean of 30 s, as in power_curves. Power is p_raw where the activity has it, else power; heart rates below 1 and from 251 on are none. Columns are NULL where their values are not known. ride_overview has these beside day and name, with TRIMP.';
COMMENT ON COLUMN training.ride_measures.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_measures.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.ride_measures.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s; NULL without dist';
COMMENT ON COLUMN training.ride_measures.coasting_s IS 'Derived: seconds of moving_s without pedalling: cad is 0, where the activity has no cad its power is 0 or less; NULL when that is not known of any second in motion';
COMMENT ON COLUMN training.ride_measures.coasting_pct IS 'Derived: 100 * coasting_s / the seconds in motion of which it is known, %';
COMMENT ON COLUMN training.ride_measures.work_kj IS 'Derived: sum of power * seconds / 1000, kJ; NULL without power';
COMMENT ON COLUMN training.ride_measures.mean_power IS 'Derived: mean power, W, of the seconds with power, coasting included; NULL without power';
COMMENT ON COLUMN training.ride_measures.weighted_power IS 'Derived: weighted mean power, W: the fourth root of the mean of the fourth powers of the means of 30 s that end at each second with power, from the 30th second of the activity on (after A. Coggan, 2003); NULL for less than 30 s';
COMMENT ON COLUMN training.ride_measures.variability IS 'Derived: weighted_power / mean_power, no unit; 1 is steady';
COMMENT ON COLUMN training.ride_measures.intensity IS 'Derived: weighted_power / threshold power, no unit; the threshold power is sig_ftp of the activity when its samples were written, see ftp in activity_intensity; NULL where the service told none';
COMMENT ON COLUMN training.ride_measures.mean_hr IS 'Derived: mean heart rate, 1/min, of the seconds with one; NULL without';
COMMENT ON COLUMN training.ride_measures.efficiency IS 'Derived: weighted_power / mean_hr, W by beats a minute (after J. Friel)';
COMMENT ON COLUMN training.ride_measures.decoupling_pct IS 'Derived: aerobic decoupling, %: 100 * (1 - (mean power / mean heart rate of the second half) / (the same of the first half)) of the seconds with a heart rate and power above 0, so that coasting does not count (after J. Friel, with the mean power). A sample is of the first half when less than half of those seconds are before it. NULL when a half is empty; short activities have one too, so ask for moving_s';
COMMENT ON COLUMN training.ride_measures.hr_drift_pct IS 'Derived: drift of the heart rate, %: 100 * (mean of the second half / mean of the first half - 1) of the seconds with a heart rate, coasting included; halves as in decoupling_pct';
COMMENT ON COLUMN training.ride_measures.ascent_m IS 'Derived: climbed height, m: a height counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. No other smoothing. NULL without alt';
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
COMMENT ON COLUMN training.ride_measures.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_measures.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
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

ALTER TABLE training.accounts ADD COLUMN resting_hr integer, ADD COLUMN max_hr integer,
  ADD CONSTRAINT accounts_resting_hr CHECK (resting_hr BETWEEN 20 AND 250),
  ADD CONSTRAINT accounts_max_hr CHECK (max_hr BETWEEN 20 AND 250);
COMMENT ON COLUMN training.accounts.resting_hr IS 'Resting heart rate of the rider, 1/min, for TRIMP in ride_overview. NULL when it is not set: musette accounts set NAME --resting-hr N';
COMMENT ON COLUMN training.accounts.max_hr IS 'Highest heart rate of the rider, 1/min, for TRIMP in ride_overview. NULL when it is not set, and then the highest of twelve months counts: musette accounts set NAME --max-hr N';

-- The months before the rows, as in ride_intensity: an account's highest heart rates come from an index.
CREATE VIEW training.ride_overview AS
SELECT c.account_id, i.activity_id, i.day, v.started_at, v.name, v.activity_type, v.elapsed_s, v.distance, v.xss, i.ftp,
  m.moving_s, m.coasting_s, m.coasting_pct, m.work_kj, m.mean_power, m.weighted_power, m.variability, m.intensity,
  m.mean_hr, m.efficiency, m.decoupling_pct, m.hr_drift_pct, m.ascent_m, m.descent_m, m.longest_climb_from_s,
  m.longest_climb_s, m.longest_climb_gain_m, m.longest_climb_length_m, m.longest_climb_grade_pct, m.longest_climb_vam,
  m.steepest_climb_from_s, m.steepest_climb_s, m.steepest_climb_gain_m, m.steepest_climb_length_m,
  m.steepest_climb_grade_pct, m.steepest_climb_vam, m.best_hr_1_min, m.best_hr_5_min, m.best_hr_20_min,
  m.best_hr_60_min, m.best_speed_1_min, m.best_speed_5_min, m.best_speed_20_min, m.best_speed_60_min,
  m.best_1_min_after_1000_kj, m.best_5_min_after_1000_kj, m.best_20_min_after_1000_kj, m.best_1_min_after_2000_kj,
  m.best_5_min_after_2000_kj, m.best_20_min_after_2000_kj, m.best_1_min_after_3000_kj, m.best_5_min_after_3000_kj,
  m.best_20_min_after_3000_kj,
  hr.highest AS hr_max, c.resting_hr AS hr_rest,
  (SELECT sum(coalesce(i.hr_at_least_s[(hr.highest * tenth + 9) / 10], 0)) / 60.0::float8 FROM generate_series(5, 9) AS tenth
   WHERE i.hr_at_least_s IS NOT NULL AND hr.highest IS NOT NULL) AS trimp_edwards,
  (SELECT sum((i.hr_at_least_s[beats] - coalesce(i.hr_at_least_s[beats + 1], 0)) / 60.0::float8 * 0.64 * reserve * exp(1.92 * reserve))
   FROM generate_series(1, cardinality(i.hr_at_least_s)) AS beats
   CROSS JOIN LATERAL (SELECT least(greatest((beats - c.resting_hr)::float8 / (hr.highest - c.resting_hr), 0), 1) AS reserve) share
   WHERE c.resting_hr < hr.highest) AS trimp_banister_men,
  (SELECT sum((i.hr_at_least_s[beats] - coalesce(i.hr_at_least_s[beats + 1], 0)) / 60.0::float8 * 0.86 * reserve * exp(1.67 * reserve))
   FROM generate_series(1, cardinality(i.hr_at_least_s)) AS beats
   CROSS JOIN LATERAL (SELECT least(greatest((beats - c.resting_hr)::float8 / (hr.highest - c.resting_hr), 0), 1) AS reserve) share
   WHERE c.resting_hr < hr.highest) AS trimp_banister_women,
  f.min_temperature, f.avg_temperature, f.max_temperature, f.right_power_pct, c.name AS account
FROM training.accounts c
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS highest
  FROM training.activity_intensity p WHERE p.account_id = c.account_id AND NOT p.absent GROUP BY month
) h
JOIN training.activity_intensity i ON i.account_id = c.account_id AND i.month = h.month AND NOT i.absent
CROSS JOIN LATERAL (SELECT * FROM training.ride_measures WHERE ride_measures.activity_id = i.activity_id OFFSET 0) m
CROSS JOIN LATERAL (
  SELECT started_at, name, activity_type, elapsed_s, distance, xss
  FROM training.activities WHERE activities.activity_id = i.activity_id OFFSET 0
) v
CROSS JOIN LATERAL (SELECT coalesce(c.max_hr, h.highest) AS highest) hr
-- The file of ride_files.
LEFT JOIN LATERAL (
  SELECT x.min_temperature, x.avg_temperature, x.max_temperature, x.right_power_pct
  FROM training.uploads u JOIN training.fit_files x ON x.account_id = u.account_id AND x.content_id = u.content_id
  WHERE u.activity_id = i.activity_id AND u.account_id = c.account_id
  ORDER BY u.state = 'duplicate', x.problem IS NOT NULL, u.seen_at, u.content_id LIMIT 1
) f ON true;
COMMENT ON VIEW training.ride_overview IS 'Derived: the measures of each activity with samples beside its day and name, and its TRIMP. One row an activity that the service lists.';
COMMENT ON COLUMN training.ride_overview.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_overview.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_overview.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.ride_overview.started_at IS 'Start';
COMMENT ON COLUMN training.ride_overview.name IS 'Name';
COMMENT ON COLUMN training.ride_overview.activity_type IS 'Type in the words of the service, such as Cycling';
COMMENT ON COLUMN training.ride_overview.elapsed_s IS 'Derived: seconds from the first sample to the last';
COMMENT ON COLUMN training.ride_overview.distance IS 'Distance as sent, km';
COMMENT ON COLUMN training.ride_overview.xss IS 'Training load score, total; unit not told by the service';
COMMENT ON COLUMN training.ride_overview.ftp IS 'Threshold power that intensity was computed with, W: sig_ftp of the activity when its samples were written';
COMMENT ON COLUMN training.ride_overview.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s; NULL without dist';
COMMENT ON COLUMN training.ride_overview.coasting_s IS 'Derived: seconds of moving_s without pedalling: cad is 0, where the activity has no cad its power is 0 or less; NULL when that is not known of any second in motion';
COMMENT ON COLUMN training.ride_overview.coasting_pct IS 'Derived: 100 * coasting_s / the seconds in motion of which it is known, %';
COMMENT ON COLUMN training.ride_overview.work_kj IS 'Derived: sum of power * seconds / 1000, kJ; NULL without power';
COMMENT ON COLUMN training.ride_overview.mean_power IS 'Derived: mean power, W, of the seconds with power, coasting included; NULL without power';
COMMENT ON COLUMN training.ride_overview.weighted_power IS 'Derived: weighted mean power, W: the fourth root of the mean of the fourth powers of the means of 30 s that end at each second with power, from the 30th second of the activity on (after A. Coggan, 2003); NULL for less than 30 s';
COMMENT ON COLUMN training.ride_overview.variability IS 'Derived: weighted_power / mean_power, no unit; 1 is steady';
COMMENT ON COLUMN training.ride_overview.intensity IS 'Derived: weighted_power / threshold power, no unit; the threshold power is sig_ftp of the activity when its samples were written, see ftp in activity_intensity; NULL where the service told none';
COMMENT ON COLUMN training.ride_overview.mean_hr IS 'Derived: mean heart rate, 1/min, of the seconds with one; NULL without';
COMMENT ON COLUMN training.ride_overview.efficiency IS 'Derived: weighted_power / mean_hr, W by beats a minute (after J. Friel)';
COMMENT ON COLUMN training.ride_overview.decoupling_pct IS 'Derived: aerobic decoupling, %: 100 * (1 - (mean power / mean heart rate of the second half) / (the same of the first half)) of the seconds with a heart rate and power above 0, so that coasting does not count (after J. Friel, with the mean power). A sample is of the first half when less than half of those seconds are before it. NULL when a half is empty; short activities have one too, so ask for moving_s';
COMMENT ON COLUMN training.ride_overview.hr_drift_pct IS 'Derived: drift of the heart rate, %: 100 * (mean of the second half / mean of the first half - 1) of the seconds with a heart rate, coasting included; halves as in decoupling_pct';
COMMENT ON COLUMN training.ride_overview.ascent_m IS 'Derived: climbed height, m: a height counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. No other smoothing. NULL without alt';
COMMENT ON COLUMN training.ride_overview.descent_m IS 'Derived: descended height, m: the falls between the same heights';
COMMENT ON COLUMN training.ride_overview.longest_climb_from_s IS 'Derived: when the longest climb begins, seconds after the second of the first sample; NULL without a climb. A climb reaches from a low point of the height above a slope of 3 % (alt - 0.03 * dist), the last of equal ones, to its highest point before 10 m of it are lost again, which takes 10 m of descent or 333 m of level road, or before it falls back to the low point. It has 30 m and 300 m at least; of climbs of one length the first counts';
COMMENT ON COLUMN training.ride_overview.longest_climb_s IS 'Derived: how long it takes, s, recording gaps included';
COMMENT ON COLUMN training.ride_overview.longest_climb_gain_m IS 'Derived: height of its end above its beginning, m';
COMMENT ON COLUMN training.ride_overview.longest_climb_length_m IS 'Derived: its length by dist, m';
COMMENT ON COLUMN training.ride_overview.longest_climb_grade_pct IS 'Derived: its mean grade, %: 100 * gain / length';
COMMENT ON COLUMN training.ride_overview.longest_climb_vam IS 'Derived: its mean vertical speed, m/h: gain / seconds * 3600';
COMMENT ON COLUMN training.ride_overview.steepest_climb_from_s IS 'Derived: when the climb with the highest mean grade begins, seconds after the second of the first sample, see longest_climb_from_s for what a climb is; NULL without one';
COMMENT ON COLUMN training.ride_overview.steepest_climb_s IS 'Derived: how long it takes, s, recording gaps included';
COMMENT ON COLUMN training.ride_overview.steepest_climb_gain_m IS 'Derived: height of its end above its beginning, m';
COMMENT ON COLUMN training.ride_overview.steepest_climb_length_m IS 'Derived: its length by dist, m';
COMMENT ON COLUMN training.ride_overview.steepest_climb_grade_pct IS 'Derived: its mean grade, %: 100 * gain / length';
COMMENT ON COLUMN training.ride_overview.steepest_climb_vam IS 'Derived: its mean vertical speed, m/h: gain / seconds * 3600';
COMMENT ON COLUMN training.ride_overview.best_hr_1_min IS 'Derived: highest mean heart rate over 1 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_overview.best_hr_5_min IS 'Derived: highest mean heart rate over 5 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_overview.best_hr_20_min IS 'Derived: highest mean heart rate over 20 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_overview.best_hr_60_min IS 'Derived: highest mean heart rate over 60 min, 1/min; seconds without a heart rate are 0; NULL for a shorter activity and without heart rate';
COMMENT ON COLUMN training.ride_overview.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by dist; gaps and a dist that falls back are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_1000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_1000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_1000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_2000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_2000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_2000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_3000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_3000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_3000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.hr_max IS 'Highest heart rate that TRIMP is computed with, 1/min: max_hr of accounts where it is set, else the highest hr_peak in the month of the activity and the twelve before it, which is too low for a rider who never went that hard. NULL without either';
COMMENT ON COLUMN training.ride_overview.hr_rest IS 'Resting heart rate that TRIMP is computed with, 1/min: resting_hr of accounts; NULL when it is not set';
COMMENT ON COLUMN training.ride_overview.trimp_edwards IS 'Derived: TRIMP after S. Edwards (1993): minutes at 50 to 60 % of hr_max + 2 * those to 70 % + 3 * to 80 % + 4 * to 90 % + 5 * above; heart rates are rounded down to whole beats. NULL without a heart rate or hr_max';
COMMENT ON COLUMN training.ride_overview.trimp_banister_men IS 'Derived: TRIMP after E. Banister (1991), no unit, with its weights for men: sum of minutes * x * 0.64 * exp(1.92 * x), x = (heart rate - hr_rest) / (hr_max - hr_rest) within 0 and 1, heart rates rounded down to whole beats. NULL without a heart rate, hr_max or hr_rest';
COMMENT ON COLUMN training.ride_overview.trimp_banister_women IS 'Derived: the same, no unit, with its weights for women: sum of minutes * x * 0.86 * exp(1.67 * x)';
COMMENT ON COLUMN training.ride_overview.min_temperature IS 'Derived: lowest temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.avg_temperature IS 'Derived: mean temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.max_temperature IS 'Derived: highest temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.right_power_pct IS 'Derived: mean share of the right leg in the power, %, of the records of its FIT file with power above 0; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.account IS 'Name of the account';
