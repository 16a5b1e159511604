-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE VIEW training.ride_overview AS
SELECT c.account_id,
    i.activity_id,
    i.day,
    v.started_at,
    v.name,
    v.activity_type,
    v.elapsed_s,
    v.distance,
    v.xss,
    i.ftp,
    m.moving_s,
    m.coasting_s,
    m.coasting_pct,
    m.work_kj,
    m.mean_power,
    m.weighted_power,
    m.variability,
    m.intensity,
    m.mean_hr,
    m.efficiency,
    m.decoupling_pct,
    m.hr_drift_pct,
    m.ascent_m,
    m.descent_m,
    m.longest_climb_from_s,
    m.longest_climb_s,
    m.longest_climb_gain_m,
    m.longest_climb_length_m,
    m.longest_climb_grade_pct,
    m.longest_climb_vam,
    m.steepest_climb_from_s,
    m.steepest_climb_s,
    m.steepest_climb_gain_m,
    m.steepest_climb_length_m,
    m.steepest_climb_grade_pct,
    m.steepest_climb_vam,
    m.best_hr_1_min,
    m.best_hr_5_min,
    m.best_hr_20_min,
    m.best_hr_60_min,
    m.best_speed_1_min,
    m.best_speed_5_min,
    m.best_speed_20_min,
    m.best_speed_60_min,
    m.best_1_min_after_1000_kj,
    m.best_5_min_after_1000_kj,
    m.best_20_min_after_1000_kj,
    m.best_1_min_after_2000_kj,
    m.best_5_min_after_2000_kj,
    m.best_20_min_after_2000_kj,
    m.best_1_min_after_3000_kj,
    m.best_5_min_after_3000_kj,
    m.best_20_min_after_3000_kj,
    r.hr_max,
    c.resting_hr AS hr_rest,
    ( SELECT sum(COALESCE(i.hr_at_least_s[(r.hr_max * tenth.tenth + 9) / 10], 0))::double precision / 60.0::double precision
           FROM generate_series(5, 9) tenth(tenth)
          WHERE i.hr_at_least_s IS NOT NULL AND r.hr_max IS NOT NULL) AS trimp_edwards,
    ( SELECT sum((i.hr_at_least_s[beats.beats] - COALESCE(i.hr_at_least_s[beats.beats + 1], 0))::double precision / 60.0::double precision * 0.64::double precision * share.reserve * exp(1.92::double precision * share.reserve)) AS sum
           FROM generate_series(1, cardinality(i.hr_at_least_s)) beats(beats)
             CROSS JOIN LATERAL ( SELECT LEAST(GREATEST((beats.beats - c.resting_hr)::double precision / (r.hr_max - c.resting_hr)::double precision, 0::double precision), 1::double precision) AS reserve) share
          WHERE c.resting_hr < r.hr_max) AS trimp_banister_men,
    ( SELECT sum((i.hr_at_least_s[beats.beats] - COALESCE(i.hr_at_least_s[beats.beats + 1], 0))::double precision / 60.0::double precision * 0.86::double precision * share.reserve * exp(1.67::double precision * share.reserve)) AS sum
           FROM generate_series(1, cardinality(i.hr_at_least_s)) beats(beats)
             CROSS JOIN LATERAL ( SELECT LEAST(GREATEST((beats.beats - c.resting_hr)::double precision / (r.hr_max - c.resting_hr)::double precision, 0::double precision), 1::double precision) AS reserve) share
          WHERE c.resting_hr < r.hr_max) AS trimp_banister_women,
    f.min_temperature,
    f.avg_temperature,
    f.max_temperature,
    f.right_power_pct,
    c.name AS account,
    v.sport
   FROM training.accounts c
     CROSS JOIN LATERAL ( SELECT p.month,
                CASE
                    WHEN p.month > '-infinity'::date THEN max(max(p.hr_peak)) OVER (ORDER BY p.month RANGE BETWEEN '1 year'::interval PRECEDING AND CURRENT ROW)
                    ELSE NULL::integer
                END AS highest
           FROM training.activity_intensity p
          WHERE p.account_id = c.account_id AND NOT p.absent
          GROUP BY p.month) h
     CROSS JOIN LATERAL ( SELECT COALESCE(c.max_hr, h.highest) AS hr_max) r
     JOIN training.activity_intensity i ON i.account_id = c.account_id AND i.month = h.month AND NOT i.absent
     CROSS JOIN LATERAL ( SELECT ride_measures.activity_id,
            ride_measures.account_id,
            ride_measures.moving_s,
            ride_measures.coasting_s,
            ride_measures.coasting_pct,
            ride_measures.work_kj,
            ride_measures.mean_power,
            ride_measures.weighted_power,
            ride_measures.variability,
            ride_measures.intensity,
            ride_measures.mean_hr,
            ride_measures.efficiency,
            ride_measures.decoupling_pct,
            ride_measures.hr_drift_pct,
            ride_measures.ascent_m,
            ride_measures.descent_m,
            ride_measures.longest_climb_from_s,
            ride_measures.longest_climb_s,
            ride_measures.longest_climb_gain_m,
            ride_measures.longest_climb_length_m,
            ride_measures.longest_climb_grade_pct,
            ride_measures.longest_climb_vam,
            ride_measures.steepest_climb_from_s,
            ride_measures.steepest_climb_s,
            ride_measures.steepest_climb_gain_m,
            ride_measures.steepest_climb_length_m,
            ride_measures.steepest_climb_grade_pct,
            ride_measures.steepest_climb_vam,
            ride_measures.best_hr_1_min,
            ride_measures.best_hr_5_min,
            ride_measures.best_hr_20_min,
            ride_measures.best_hr_60_min,
            ride_measures.best_speed_1_min,
            ride_measures.best_speed_5_min,
            ride_measures.best_speed_20_min,
            ride_measures.best_speed_60_min,
            ride_measures.best_1_min_after_1000_kj,
            ride_measures.best_5_min_after_1000_kj,
            ride_measures.best_20_min_after_1000_kj,
            ride_measures.best_1_min_after_2000_kj,
            ride_measures.best_5_min_after_2000_kj,
            ride_measures.best_20_min_after_2000_kj,
            ride_measures.best_1_min_after_3000_kj,
            ride_measures.best_5_min_after_3000_kj,
            ride_measures.best_20_min_after_3000_kj,
            ride_measures.cadence_s,
            ride_measures.cadence_work_kj
           FROM training.ride_measures
          WHERE ride_measures.activity_id = i.activity_id
         OFFSET 0) m
     CROSS JOIN LATERAL ( SELECT activities.started_at,
            activities.name,
            activities.activity_type,
            activities.elapsed_s,
            activities.distance,
            activities.xss,
            activities.sport
           FROM training.activities
          WHERE activities.activity_id = i.activity_id
         OFFSET 0) v
     LEFT JOIN LATERAL ( SELECT x.min_temperature,
            x.avg_temperature,
            x.max_temperature,
            x.right_power_pct
           FROM training.uploads u
             JOIN training.fit_files x ON x.account_id = u.account_id AND x.content_id = u.content_id
          WHERE u.activity_id = i.activity_id AND u.account_id = c.account_id
          ORDER BY (u.state = 'duplicate'::text), (x.problem IS NOT NULL), u.seen_at, u.content_id
         LIMIT 1) f ON true;

-- Comments, last changed by 0024_column_comments
COMMENT ON VIEW training.ride_overview IS 'Derived: the measures of each activity with samples beside its day and name, and its TRIMP. One row an activity that the service lists.';
COMMENT ON COLUMN training.ride_overview.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_overview.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_overview.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.ride_overview.started_at IS 'Start';
COMMENT ON COLUMN training.ride_overview.name IS 'Name';
COMMENT ON COLUMN training.ride_overview.activity_type IS 'Type in the words of the service, such as Cycling';
COMMENT ON COLUMN training.ride_overview.elapsed_s IS 'Derived: seconds from the first sample to the last of the main run, see stray_samples of activities';
COMMENT ON COLUMN training.ride_overview.distance IS 'Distance as sent, km';
COMMENT ON COLUMN training.ride_overview.xss IS 'Training load score, total; unit not told by the service';
COMMENT ON COLUMN training.ride_overview.ftp IS 'Threshold power that intensity was computed with, W: sig_ftp of the activity when its samples were written; NULL when that was unknown or 0';
COMMENT ON COLUMN training.ride_overview.moving_s IS 'Derived: seconds in motion: sum of the seconds from a sample to the next, gaps left out, in which dist grew by more than 0.5 m/s. Where dist falls back, or jumps by more than 50 m/s, it is off, which is no way, until it goes on from its highest, so that nothing is ridden twice; when it is off for more than 10 s, it begins anew. NULL without dist';
COMMENT ON COLUMN training.ride_overview.coasting_s IS 'Derived: seconds of moving_s without pedalling: cad is 0, where the activity has no cad its power is 0 or less; NULL when that is not known of any second in motion';
COMMENT ON COLUMN training.ride_overview.coasting_pct IS 'Derived: 100 * coasting_s / the seconds in motion of which it is known, %';
COMMENT ON COLUMN training.ride_overview.work_kj IS 'Derived: sum of power * seconds / 1000, kJ; NULL without power';
COMMENT ON COLUMN training.ride_overview.mean_power IS 'Derived: mean power, W, of the seconds with power, coasting included; NULL without power';
COMMENT ON COLUMN training.ride_overview.weighted_power IS 'Derived: weighted mean power, W: the fourth root of the mean of the fourth powers of the means of 30 s that end at each second with power, from the 30th second of the activity on (after A. Coggan, 2003); NULL for less than 30 s';
COMMENT ON COLUMN training.ride_overview.variability IS 'Derived: weighted_power / mean_power, no unit; 1 is steady';
COMMENT ON COLUMN training.ride_overview.intensity IS 'Derived: weighted_power / threshold power, no unit; the threshold power is sig_ftp of the activity when its samples were written, see ftp in activity_intensity; NULL when that was unknown or 0';
COMMENT ON COLUMN training.ride_overview.mean_hr IS 'Derived: mean heart rate, 1/min, of the seconds with one; NULL without';
COMMENT ON COLUMN training.ride_overview.efficiency IS 'Derived: weighted_power / mean_hr, W by beats a minute (after J. Friel)';
COMMENT ON COLUMN training.ride_overview.decoupling_pct IS 'Derived: aerobic decoupling, %: 100 * (1 - (mean power / mean heart rate of the second half) / (the same of the first half)) of the seconds with a heart rate and power above 0, so that coasting does not count (after J. Friel, with the mean power). A sample is of the first half when less than half of those seconds are before it. NULL when a half is empty; short activities have one too, so ask for moving_s';
COMMENT ON COLUMN training.ride_overview.hr_drift_pct IS 'Derived: drift of the heart rate, %: 100 * (mean of the second half / mean of the first half - 1) of the seconds with a heart rate, coasting included; halves as in decoupling_pct';
COMMENT ON COLUMN training.ride_overview.ascent_m IS 'Derived: climbed height, m: of the means of alt up to 5 s before and after each sample, to the centimetre, one counts when it is 2 m or more from the last one that counted, and the rises between those that count are summed, also over gaps. NULL without alt';
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
COMMENT ON COLUMN training.ride_overview.best_speed_1_min IS 'Derived: highest mean speed over 1 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_5_min IS 'Derived: highest mean speed over 5 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_20_min IS 'Derived: highest mean speed over 20 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_speed_60_min IS 'Derived: highest mean speed over 60 min, km/h, by the way of moving_s; gaps are 0; NULL for a shorter activity and without dist';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_1000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_1000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_1000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 1,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_2000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_2000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_2000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 2,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.best_1_min_after_3000_kj IS 'Derived: best mean power over 1 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 1 min are left then';
COMMENT ON COLUMN training.ride_overview.best_5_min_after_3000_kj IS 'Derived: best mean power over 5 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 5 min are left then';
COMMENT ON COLUMN training.ride_overview.best_20_min_after_3000_kj IS 'Derived: best mean power over 20 min, W, in windows that begin after 3,000 kJ of work; recording gaps are 0; NULL when no 20 min are left then';
COMMENT ON COLUMN training.ride_overview.hr_max IS 'Highest heart rate that TRIMP is computed with, 1/min: hr_max of ride_intensity, which is too low for a rider who has not set it and never went that hard. NULL where it is not known';
COMMENT ON COLUMN training.ride_overview.hr_rest IS 'Resting heart rate that TRIMP is computed with, 1/min: resting_hr of accounts; NULL when it is not set';
COMMENT ON COLUMN training.ride_overview.trimp_edwards IS 'Derived: TRIMP after S. Edwards (1993): minutes at 50 to 60 % of hr_max + 2 * those to 70 % + 3 * to 80 % + 4 * to 90 % + 5 * above; heart rates are rounded down to whole beats. NULL without a heart rate or hr_max';
COMMENT ON COLUMN training.ride_overview.trimp_banister_men IS 'Derived: TRIMP after E. Banister (1991), no unit, with its weights for men: sum of minutes * x * 0.64 * exp(1.92 * x), x = (heart rate - hr_rest) / (hr_max - hr_rest) within 0 and 1, heart rates rounded down to whole beats. NULL without a heart rate, hr_max or hr_rest';
COMMENT ON COLUMN training.ride_overview.trimp_banister_women IS 'Derived: the same, no unit, with its weights for women: sum of minutes * x * 0.86 * exp(1.67 * x)';
COMMENT ON COLUMN training.ride_overview.min_temperature IS 'Derived: lowest temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.avg_temperature IS 'Derived: mean temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.max_temperature IS 'Derived: highest temperature of the records of its FIT file, °C; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.right_power_pct IS 'Derived: mean share of the right leg in the power, %, of the records of its FIT file with power above 0; NULL where there is none';
COMMENT ON COLUMN training.ride_overview.account IS 'Name of the account';
COMMENT ON COLUMN training.ride_overview.sport IS 'Derived: kind of sport, see activities';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_overview SET (security_invoker=true);
GRANT SELECT ON training.ride_overview TO musette_one_account, musette_reader;
