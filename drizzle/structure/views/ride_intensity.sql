-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0019_main_runs_and_sports
CREATE OR REPLACE VIEW training.ride_intensity AS
SELECT a.account_id, i.activity_id, i.day, i.ftp,
  i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s, hr.hr_max,
  i.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, i.near_mpa_s, i.above_ftp_s, i.hr_peak, i.sample_spacing_s, a.name AS account,
  (SELECT v.sport FROM training.activities v WHERE v.activity_id = i.activity_id) AS sport
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS highest
  FROM training.activity_intensity p WHERE p.account_id = a.account_id AND NOT p.absent GROUP BY month
) h
CROSS JOIN LATERAL (SELECT coalesce(a.max_hr, h.highest) AS hr_max) hr
JOIN training.activity_intensity i ON i.account_id = a.account_id AND i.month = h.month AND NOT i.absent
LEFT JOIN LATERAL (
  SELECT coalesce(i.hr_at_least_s[(hr.hr_max * 6 + 9) / 10], 0) AS s60, coalesce(i.hr_at_least_s[(hr.hr_max * 7 + 9) / 10], 0) AS s70,
    coalesce(i.hr_at_least_s[(hr.hr_max * 8 + 9) / 10], 0) AS s80, coalesce(i.hr_at_least_s[(hr.hr_max * 9 + 9) / 10], 0) AS s90
  WHERE hr.hr_max IS NOT NULL AND i.hr_at_least_s IS NOT NULL
) z ON true;

-- Comments, last changed by 0024_column_comments
COMMENT ON VIEW training.ride_intensity IS 'Derived: how many seconds of each activity with samples were how hard. Power zones are shares of that day''s threshold power, heart rate zones of the highest heart rate hr_max. Each sample counts for the seconds until the next one, see sample_spacing_s; recording gaps do not count; power is p_raw where the activity has it, else power.';
COMMENT ON COLUMN training.ride_intensity.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_intensity.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_intensity.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.ride_intensity.ftp IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written; NULL when that was unknown or 0';
COMMENT ON COLUMN training.ride_intensity.power_z1_s IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z2_s IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z3_s IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z4_s IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z5_s IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z6_s IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z7_s IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.hr_max IS 'Highest heart rate, 1/min, that the zones are shares of: max_hr of accounts where it is set, else derived: the highest hr_peak of the account in that month and the twelve before it; NULL without either';
COMMENT ON COLUMN training.ride_intensity.hr_z1_s IS 'Derived: seconds below 60 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z2_s IS 'Derived: seconds from 60 % to below 70 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z3_s IS 'Derived: seconds from 70 % to below 80 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z4_s IS 'Derived: seconds from 80 % to below 90 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z5_s IS 'Derived: seconds at 90 % of hr_max or more; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0; NULL when no second has power and such an mpa';
COMMENT ON COLUMN training.ride_intensity.above_ftp_s IS 'Derived: seconds above ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.hr_peak IS 'Derived: the highest heart rate that was reached for 10 s in a row, 1/min';
COMMENT ON COLUMN training.ride_intensity.sample_spacing_s IS 'Derived: seconds from one sample to the next: the median of the recording, of an even number of distances the lower one of the two in the middle; 1 for nearly all. A sample counts until the next one when that is less than two spacings away, else for one spacing; what follows is a gap';
COMMENT ON COLUMN training.ride_intensity.account IS 'Name of the account';
COMMENT ON COLUMN training.ride_intensity.sport IS 'Derived: kind of sport, see activities';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_intensity SET (security_invoker=true);
GRANT SELECT ON training.ride_intensity TO musette_one_account, musette_reader;
