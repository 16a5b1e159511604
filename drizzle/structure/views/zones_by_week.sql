-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.zones_by_week AS
SELECT a.account_id, zones.week, zones.activities, zones.power_z1_s, zones.power_z2_s, zones.power_z3_s, zones.power_z4_s,
  zones.power_z5_s, zones.power_z6_s, zones.power_z7_s, zones.hr_z1_s, zones.hr_z2_s, zones.hr_z3_s, zones.hr_z4_s, zones.hr_z5_s,
  zones.near_mpa_s, zones.above_ftp_s, a.name AS account, zones.sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT training.week_of(day) AS week, count(*)::int AS activities,
    sum(power_z1_s)::int AS power_z1_s, sum(power_z2_s)::int AS power_z2_s, sum(power_z3_s)::int AS power_z3_s,
    sum(power_z4_s)::int AS power_z4_s, sum(power_z5_s)::int AS power_z5_s, sum(power_z6_s)::int AS power_z6_s,
    sum(power_z7_s)::int AS power_z7_s, sum(hr_z1_s)::int AS hr_z1_s, sum(hr_z2_s)::int AS hr_z2_s,
    sum(hr_z3_s)::int AS hr_z3_s, sum(hr_z4_s)::int AS hr_z4_s, sum(hr_z5_s)::int AS hr_z5_s,
    sum(near_mpa_s)::int AS near_mpa_s, sum(above_ftp_s)::int AS above_ftp_s, sport
  FROM (
    SELECT * FROM training.ride_intensity i WHERE i.account_id = a.account_id AND day IS NOT NULL OFFSET 0
  ) i
  GROUP BY week, sport
) zones;

-- Comments, last changed by 0019_main_runs_and_sports
COMMENT ON VIEW training.zones_by_week IS 'Derived: ride_intensity summed over each week and sport; each activity counts with the threshold power and the highest heart rate of its own time. A sum is NULL when no activity of them has the number. A rider of several sports has a row for each of them in a week: ask for one, or add them up.';
COMMENT ON COLUMN training.zones_by_week.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.zones_by_week.week IS 'Monday of the week, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.zones_by_week.activities IS 'Number of activities with samples';
COMMENT ON COLUMN training.zones_by_week.power_z1_s IS 'Derived: seconds below 55 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z2_s IS 'Derived: seconds from 55 % to below 75 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z3_s IS 'Derived: seconds from 75 % to below 90 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z4_s IS 'Derived: seconds from 90 % to below 105 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z5_s IS 'Derived: seconds from 105 % to below 120 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z6_s IS 'Derived: seconds from 120 % to 150 % of ftp';
COMMENT ON COLUMN training.zones_by_week.power_z7_s IS 'Derived: seconds above 150 % of ftp';
COMMENT ON COLUMN training.zones_by_week.hr_z1_s IS 'Derived: seconds below 60 % of hr_max, see ride_intensity';
COMMENT ON COLUMN training.zones_by_week.hr_z2_s IS 'Derived: seconds from 60 % to below 70 % of hr_max';
COMMENT ON COLUMN training.zones_by_week.hr_z3_s IS 'Derived: seconds from 70 % to below 80 % of hr_max';
COMMENT ON COLUMN training.zones_by_week.hr_z4_s IS 'Derived: seconds from 80 % to below 90 % of hr_max';
COMMENT ON COLUMN training.zones_by_week.hr_z5_s IS 'Derived: seconds at 90 % of hr_max or more';
COMMENT ON COLUMN training.zones_by_week.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0';
COMMENT ON COLUMN training.zones_by_week.above_ftp_s IS 'Derived: seconds above ftp';
COMMENT ON COLUMN training.zones_by_week.account IS 'Name of the account';
COMMENT ON COLUMN training.zones_by_week.sport IS 'Derived: kind of sport of the activities, see there';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.zones_by_week SET (security_invoker=true);
GRANT SELECT ON training.zones_by_week TO musette_one_account, musette_reader;
