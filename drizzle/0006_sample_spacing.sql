ALTER TABLE training.activity_intensity ADD COLUMN sample_spacing_s integer;
COMMENT ON COLUMN training.activity_intensity.sample_spacing_s IS 'Derived: seconds from one sample to the next, the median of the recording: 1 for nearly all. A sample counts until the next one when that is less than two spacings away, else for one spacing; what follows is a gap';
COMMENT ON TABLE training.activity_intensity IS 'Derived: how many seconds of an activity were how hard, counted once when its samples are written; one row an activity that has samples. Each sample counts for the seconds until the next one, see sample_spacing_s (of several samples in one second the last one), recording gaps do not count. Power is p_raw where the activity has it, else power. Read it through the view ride_intensity.';
COMMENT ON TABLE training.power_curves IS 'Derived: the best mean power of an activity for about 60 durations. A sample lasts until the next one, see sample_spacing_s of ride_intensity; recording gaps count as zero watts.';
-- When at least half of the steps between samples take two seconds or more, all take one and a half on average. The others are made
-- anew from the stored answers when the daemon starts, and by a rebuild.
UPDATE training.activity_intensity i SET sample_spacing_s = 1
FROM training.activities a WHERE a.activity_id = i.activity_id AND a.elapsed_s < 1.5 * (a.sample_count - 1);

CREATE OR REPLACE VIEW training.ride_intensity AS
SELECT a.account_id, i.activity_id, i.day, i.ftp,
  i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s, h.hr_max,
  i.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, i.near_mpa_s, i.above_ftp_s, i.hr_peak, i.sample_spacing_s
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT month, CASE WHEN month > '-infinity' THEN max(max(hr_peak)) OVER (
    ORDER BY month RANGE BETWEEN interval '12 months' PRECEDING AND CURRENT ROW) END AS hr_max
  FROM training.activity_intensity p WHERE p.account_id = a.account_id AND NOT p.absent GROUP BY month
) h
JOIN training.activity_intensity i ON i.account_id = a.account_id AND i.month = h.month AND NOT i.absent
LEFT JOIN LATERAL (
  SELECT coalesce(i.hr_at_least_s[(h.hr_max * 6 + 9) / 10], 0) AS s60, coalesce(i.hr_at_least_s[(h.hr_max * 7 + 9) / 10], 0) AS s70,
    coalesce(i.hr_at_least_s[(h.hr_max * 8 + 9) / 10], 0) AS s80, coalesce(i.hr_at_least_s[(h.hr_max * 9 + 9) / 10], 0) AS s90
  WHERE h.hr_max IS NOT NULL AND i.hr_at_least_s IS NOT NULL
) z ON true;
COMMENT ON VIEW training.ride_intensity IS 'Derived: how many seconds of each activity with samples were how hard. Power zones are shares of that day''s threshold power, heart rate zones of a derived highest heart rate. Each sample counts for the seconds until the next one, see sample_spacing_s; recording gaps do not count; power is p_raw where the activity has it, else power.';
COMMENT ON COLUMN training.ride_intensity.sample_spacing_s IS 'Derived: seconds from one sample to the next, the median of the recording: 1 for nearly all. A sample counts until the next one when that is less than two spacings away, else for one spacing; what follows is a gap';
