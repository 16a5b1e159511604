COMMENT ON TABLE training.activity_intensity IS 'Derived: how many seconds of an activity were how hard, counted once when its samples are written; one row an activity that has samples. Each second with a sample counts once (of several samples in one second the last one), recording gaps do not count. Power is p_raw where the activity has it, else power. Read it through the view ride_intensity.';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."ftp" IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written; NULL when the service told none, and then there are no zones';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z1_s" IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z2_s" IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z3_s" IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z4_s" IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z5_s" IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z6_s" IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."power_z7_s" IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."above_ftp_s" IS 'Derived: seconds above ftp; NULL without power or ftp';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."near_mpa_s" IS 'Derived: seconds at 90 % or more of the maximal power available (mpa); NULL when no second has both power and mpa';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."hr_peak" IS 'Derived: the highest heart rate that at least 10 s of the activity reached, 1/min, so that a spike of a sensor does not count; NULL when none did';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_intensity."hr_at_least_s" IS 'Derived: element N is the seconds with a heart rate of N /min or more, up to the highest there was (beyond it the element is NULL: read it as 0); heart rates below 1 and from 251 on are not counted; NULL without heart rate';
--> statement-breakpoint
-- Each activity is looked up below: without statistics the index is left aside, and what it has not summarized is read whole.
ANALYZE training.samples;
--> statement-breakpoint
SELECT brin_summarize_new_values('training.samples_activity');
--> statement-breakpoint
-- For the activities that are here already, about 9 ms each; src/normalize/intensity.ts counts the same at each later writing.
INSERT INTO training.activity_intensity
SELECT a.activity_id, a.ftp, p.z1, p.z2, p.z3, p.z4, p.z5, p.z6, p.z7, p.above_ftp, p.near_mpa, p.hr_peak, p.hr_at_least
FROM (
  SELECT activity_id, CASE WHEN sig_ftp > 0 THEN sig_ftp END AS ftp FROM training.activities WHERE sample_count > 0
) a
CROSS JOIN LATERAL (
  WITH sample AS (
    SELECT CASE WHEN bool_or(p_raw IS NOT NULL) OVER () THEN p_raw ELSE power END::float8 AS watts, mpa::float8 AS mpa, hr,
      date_trunc('second', t) IS DISTINCT FROM lead(date_trunc('second', t)) OVER (ORDER BY t, ctid) AS last_of_second
    FROM training.samples WHERE samples.activity_id = a.activity_id AND t IS NOT NULL
  ), power AS (
    SELECT watts, CASE WHEN mpa > 0 AND mpa < 'Infinity' THEN mpa END AS mpa FROM sample
    WHERE last_of_second AND watts > '-Infinity' AND watts < 'Infinity'
  ), beat AS (
    SELECT floor(hr)::int AS bpm, count(*) AS seconds FROM sample
    WHERE last_of_second AND hr >= 1 AND hr < 251 GROUP BY 1
  ), hr AS (
    SELECT bpm, sum(coalesce(seconds, 0)) OVER (ORDER BY bpm DESC)::int AS at_least
    FROM generate_series(1, (SELECT max(bpm) FROM beat)) AS each(bpm) LEFT JOIN beat USING (bpm)
  ), zone AS (
    SELECT count(*) FILTER (WHERE watts * 100 < a.ftp * 55) AS z1,
      count(*) FILTER (WHERE watts * 100 >= a.ftp * 55 AND watts * 100 < a.ftp * 75) AS z2,
      count(*) FILTER (WHERE watts * 100 >= a.ftp * 75 AND watts * 100 < a.ftp * 90) AS z3,
      count(*) FILTER (WHERE watts * 100 >= a.ftp * 90 AND watts * 100 < a.ftp * 105) AS z4,
      count(*) FILTER (WHERE watts * 100 >= a.ftp * 105 AND watts * 100 < a.ftp * 120) AS z5,
      count(*) FILTER (WHERE watts * 100 >= a.ftp * 120 AND watts * 100 <= a.ftp * 150) AS z6,
      count(*) FILTER (WHERE watts * 100 > a.ftp * 150) AS z7,
      count(*) FILTER (WHERE watts > a.ftp) AS above_ftp
    FROM power HAVING count(*) > 0 AND a.ftp IS NOT NULL
  )
  SELECT zone.*,
    (SELECT count(*) FILTER (WHERE watts * 100 >= mpa * 90) FROM power HAVING count(mpa) > 0) AS near_mpa,
    (SELECT max(bpm) FROM hr WHERE at_least >= 10) AS hr_peak,
    (SELECT array_agg(at_least ORDER BY bpm) FROM hr) AS hr_at_least
  FROM (SELECT) one LEFT JOIN zone ON true
) p;
