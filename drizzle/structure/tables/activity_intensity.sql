-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0006_sample_spacing
CREATE TABLE training.activity_intensity (
  activity_id integer NOT NULL,
  ftp double precision,
  power_z1_s integer,
  power_z2_s integer,
  power_z3_s integer,
  power_z4_s integer,
  power_z5_s integer,
  power_z6_s integer,
  power_z7_s integer,
  above_ftp_s integer,
  near_mpa_s integer,
  hr_peak integer,
  hr_at_least_s integer[],
  account_id integer,
  day date,
  month date DEFAULT '-infinity'::date NOT NULL,
  absent boolean DEFAULT false NOT NULL,
  sample_spacing_s integer,
  CONSTRAINT activity_intensity_pkey PRIMARY KEY (activity_id),
  CONSTRAINT activity_intensity_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE CASCADE
);

-- Indexes, last changed by 0000_schema
CREATE INDEX activity_intensity_peaks ON training.activity_intensity USING btree (account_id, month, hr_peak DESC) WHERE (NOT absent);

-- Comments, last changed by 0024_column_comments
COMMENT ON TABLE training.activity_intensity IS 'Derived: how many seconds of an activity were how hard, counted once when its samples are written; one row an activity that has samples. Each sample counts for the seconds until the next one, see sample_spacing_s (of several samples in one second the last one), recording gaps do not count. Power is p_raw where the activity has it, else power. Read it through the view ride_intensity.';
COMMENT ON COLUMN training.activity_intensity.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.activity_intensity.ftp IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written; NULL when that was unknown or 0, and then there are no zones';
COMMENT ON COLUMN training.activity_intensity.power_z1_s IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z2_s IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z3_s IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z4_s IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z5_s IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z6_s IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z7_s IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.above_ftp_s IS 'Derived: seconds above ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa), of those with mpa above 0; NULL when no second has power and such an mpa';
COMMENT ON COLUMN training.activity_intensity.hr_peak IS 'Derived: the highest heart rate that was reached for 10 s in a row, without a break of the recording, 1/min, so that spikes of a sensor do not count; NULL when none was';
COMMENT ON COLUMN training.activity_intensity.hr_at_least_s IS 'Derived: element N is the seconds with a heart rate of N /min or more, up to the highest there was (beyond it the element is NULL: read it as 0); heart rates below 1 and from 251 on are not counted; NULL without heart rate';
COMMENT ON COLUMN training.activity_intensity.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.activity_intensity.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.activity_intensity.month IS 'Derived: first day of the month of day, -infinity when that is not known. For the view ride_intensity';
COMMENT ON COLUMN training.activity_intensity.absent IS 'Whether the service does not list the activity any more, see activities.absent_since';
COMMENT ON COLUMN training.activity_intensity.sample_spacing_s IS 'Derived: seconds from one sample to the next: the median of the recording, of an even number of distances the lower one of the two in the middle; 1 for nearly all. A sample counts until the next one when that is less than two spacings away, else for one spacing; what follows is a gap';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.activity_intensity ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.activity_intensity TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.activity_intensity AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (activity_id IN ( SELECT id.id
   FROM musette.visible_activities() id(id)))));
GRANT SELECT ON training.activity_intensity TO musette_one_account, musette_reader;
