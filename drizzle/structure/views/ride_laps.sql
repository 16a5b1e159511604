-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0010_views_name_accounts
CREATE OR REPLACE VIEW training.ride_laps AS
SELECT v.account_id,
    v.activity_id,
    v.content_id,
    v.lap,
    v.started_at,
    v.ended_at,
    v.sport,
    v.sub_sport,
    v.elapsed_s,
    v.timer_s,
    v.moving_s,
    v.distance_m,
    v.work_j,
    v.calories_kcal,
    v.ascent_m,
    v.descent_m,
    v.avg_power,
    v.max_power,
    v.weighted_power,
    v.right_power_pct,
    v.avg_hr,
    v.max_hr,
    v.min_hr,
    v.avg_cadence,
    v.max_cadence,
    v.avg_speed_mps,
    v.max_speed_mps,
    v.avg_temperature,
    v.max_temperature,
    v.start_lat,
    v.start_lng,
    v.end_lat,
    v.end_lng,
    v.trigger,
    v.intensity,
    v.fields,
    a.name AS account
   FROM ( SELECT f.account_id,
            f.activity_id,
            f.content_id,
            l."position" AS lap,
            l.started_at,
            l.ended_at,
            l.sport,
            l.sub_sport,
            l.elapsed_s,
            l.timer_s,
            l.moving_s,
            l.distance_m,
            l.work_j,
            l.calories_kcal,
            l.ascent_m,
            l.descent_m,
            l.avg_power,
            l.max_power,
            l.weighted_power,
            l.right_power_pct,
            l.avg_hr,
            l.max_hr,
            l.min_hr,
            l.avg_cadence,
            l.max_cadence,
            l.avg_speed_mps,
            l.max_speed_mps,
            l.avg_temperature,
            l.max_temperature,
            l.start_lat,
            l.start_lng,
            l.end_lat,
            l.end_lng,
            l.trigger,
            l.intensity,
            l.fields
           FROM training.ride_files f
             CROSS JOIN LATERAL ( SELECT fit_laps.account_id,
                    fit_laps.content_id,
                    fit_laps."position",
                    fit_laps.started_at,
                    fit_laps.ended_at,
                    fit_laps.sport,
                    fit_laps.sub_sport,
                    fit_laps.elapsed_s,
                    fit_laps.timer_s,
                    fit_laps.moving_s,
                    fit_laps.distance_m,
                    fit_laps.work_j,
                    fit_laps.calories_kcal,
                    fit_laps.ascent_m,
                    fit_laps.descent_m,
                    fit_laps.avg_power,
                    fit_laps.max_power,
                    fit_laps.weighted_power,
                    fit_laps.right_power_pct,
                    fit_laps.avg_hr,
                    fit_laps.max_hr,
                    fit_laps.min_hr,
                    fit_laps.avg_cadence,
                    fit_laps.max_cadence,
                    fit_laps.avg_speed_mps,
                    fit_laps.max_speed_mps,
                    fit_laps.avg_temperature,
                    fit_laps.max_temperature,
                    fit_laps.start_lat,
                    fit_laps.start_lng,
                    fit_laps.end_lat,
                    fit_laps.end_lng,
                    fit_laps.fields,
                    fit_laps.trigger,
                    fit_laps.intensity
                   FROM training.fit_laps
                  WHERE fit_laps.account_id = f.account_id AND fit_laps.content_id = f.content_id
                 OFFSET 0) l) v
     LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.ride_laps IS 'The laps of each activity whose FIT file is here, as the device summed them up, in the order of lap.';
COMMENT ON COLUMN training.ride_laps.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_laps.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_laps.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_laps.lap IS 'Number of the lap, from 1';
COMMENT ON COLUMN training.ride_laps.started_at IS 'Start';
COMMENT ON COLUMN training.ride_laps.ended_at IS 'End, the time of the message';
COMMENT ON COLUMN training.ride_laps.sport IS 'Sport, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.ride_laps.sub_sport IS 'Kind of the sport, in the words of the FIT profile';
COMMENT ON COLUMN training.ride_laps.elapsed_s IS 'Time from start to end, pauses included, s';
COMMENT ON COLUMN training.ride_laps.timer_s IS 'Time while the timer ran, s';
COMMENT ON COLUMN training.ride_laps.moving_s IS 'Time in motion, s; few devices write it';
COMMENT ON COLUMN training.ride_laps.distance_m IS 'Distance, m';
COMMENT ON COLUMN training.ride_laps.work_j IS 'Work, J';
COMMENT ON COLUMN training.ride_laps.calories_kcal IS 'Energy, kcal';
COMMENT ON COLUMN training.ride_laps.ascent_m IS 'Climbed height, m';
COMMENT ON COLUMN training.ride_laps.descent_m IS 'Descended height, m';
COMMENT ON COLUMN training.ride_laps.avg_power IS 'Mean power, W';
COMMENT ON COLUMN training.ride_laps.max_power IS 'Highest power, W';
COMMENT ON COLUMN training.ride_laps.weighted_power IS 'Weighted mean power as the device computed it, W (normalized_power of the FIT profile)';
COMMENT ON COLUMN training.ride_laps.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it is';
COMMENT ON COLUMN training.ride_laps.avg_hr IS 'Mean heart rate, 1/min';
COMMENT ON COLUMN training.ride_laps.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.ride_laps.min_hr IS 'Lowest heart rate, 1/min';
COMMENT ON COLUMN training.ride_laps.avg_cadence IS 'Mean cadence, 1/min';
COMMENT ON COLUMN training.ride_laps.max_cadence IS 'Highest cadence, 1/min';
COMMENT ON COLUMN training.ride_laps.avg_speed_mps IS 'Mean speed, m/s';
COMMENT ON COLUMN training.ride_laps.max_speed_mps IS 'Highest speed, m/s';
COMMENT ON COLUMN training.ride_laps.avg_temperature IS 'Mean temperature, °C';
COMMENT ON COLUMN training.ride_laps.max_temperature IS 'Highest temperature, °C';
COMMENT ON COLUMN training.ride_laps.start_lat IS 'Latitude of the start, degrees';
COMMENT ON COLUMN training.ride_laps.start_lng IS 'Longitude of the start, degrees';
COMMENT ON COLUMN training.ride_laps.end_lat IS 'Latitude of the end, degrees';
COMMENT ON COLUMN training.ride_laps.end_lng IS 'Longitude of the end, degrees';
COMMENT ON COLUMN training.ride_laps.trigger IS 'Why the lap ended, see fit_laps';
COMMENT ON COLUMN training.ride_laps.intensity IS 'What the lap was, see fit_laps';
COMMENT ON COLUMN training.ride_laps.fields IS 'Every field of the lap, see fit_laps';
COMMENT ON COLUMN training.ride_laps.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_laps SET (security_invoker=true);
GRANT SELECT ON training.ride_laps TO musette_one_account, musette_reader;
