-- The whole schema: every table with its indexes and comments, then the views. Later migrations change it.

CREATE SCHEMA IF NOT EXISTS training;
COMMENT ON SCHEMA training IS 'The mirror of the training history: every table here is made to be read with SQL. Rows say what the service said; what is derived is named as derived; what is unknown is NULL.';
CREATE SCHEMA IF NOT EXISTS musette;
COMMENT ON SCHEMA musette IS 'What readers must not reach: sealed tokens, locks and the journal of migrations.';

-- Makes the role where the user may, and grants it every table made below. A database whose user may not create roles works
-- without it. A role belongs to the whole server, so that another database may make it at this moment.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_reader') THEN
    CREATE ROLE musette_reader NOLOGIN;
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'role musette_reader is not made: this user may not create roles';
END
$$;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_reader') THEN
    GRANT USAGE ON SCHEMA training TO musette_reader;
    ALTER DEFAULT PRIVILEGES IN SCHEMA training GRANT SELECT ON TABLES TO musette_reader;
  END IF;
END
$$;

CREATE TABLE training.accounts (
  account_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  base_url text NOT NULL,
  needs_login boolean NOT NULL DEFAULT true,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT accounts_name UNIQUE (name)
);
-- Plans depend on the number of accounts: without statistics Postgres expects hundreds, and by default autovacuum analyzes a table
-- after 50 changed rows.
ALTER TABLE training.accounts SET (autovacuum_analyze_threshold = 1);
ANALYZE training.accounts;
COMMENT ON TABLE training.accounts IS 'One row an account at the service.';
COMMENT ON COLUMN training.accounts.account_id IS 'Key of the account in this database';
COMMENT ON COLUMN training.accounts.name IS 'Name given at login; `default` unless told otherwise';
COMMENT ON COLUMN training.accounts.base_url IS 'Address of the service that holds the account';
COMMENT ON COLUMN training.accounts.needs_login IS 'True while there are no tokens that work: run musette login';
COMMENT ON COLUMN training.accounts.last_error IS 'Last failure of the tokens, in words; NULL while they work';
COMMENT ON COLUMN training.accounts.created_at IS 'When the account was first known here';

CREATE TABLE training.activities (
  activity_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id integer NOT NULL,
  path text NOT NULL,
  name text,
  description text,
  activity_type text,
  started_at timestamptz,
  timezone text,
  started_at_local timestamp,
  detail_state text NOT NULL DEFAULT 'wanted',
  sample_count integer,
  elapsed_s double precision,
  samples_at timestamptz,
  start_lat double precision,
  start_lng double precision,
  south double precision,
  north double precision,
  west double precision,
  east double precision,
  max_power double precision,
  avg_power double precision,
  max_cadence double precision,
  total_elevation_gain double precision,
  total_calories double precision,
  xss double precision,
  xlss double precision,
  xhss double precision,
  xpss double precision,
  xep double precision,
  mep double precision,
  tws double precision,
  sp double precision,
  sfd double precision,
  focus text,
  specificity text,
  difficulty double precision,
  difficulty_rating text,
  distance double precision,
  duration double precision,
  sig_ftp double precision,
  sig_atc double precision,
  sig_pp double precision,
  prev_sig_ftp double precision,
  prev_sig_atc double precision,
  prev_sig_pp double precision,
  prev_sig_ltp double precision,
  medal double precision,
  breakthrough double precision,
  total_grams_carbs double precision,
  total_grams_fat double precision,
  progression_date text,
  tl_ftp double precision,
  tl_hie double precision,
  tl_pp double precision,
  rl_ftp double precision,
  rl_hie double precision,
  rl_pp double precision,
  form double precision,
  training_status double precision,
  freshness text,
  street_view text,
  activity_map text,
  chart_view text,
  summary jsonb,
  absent_since timestamptz,
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  listed_at timestamptz NOT NULL,
  fetched_at timestamptz,
  wanted_at timestamptz NOT NULL,
  list_fields jsonb,
  detail_fields jsonb,
  summary_hash text,
  next_fetch_at timestamptz,
  fetch_attempts integer NOT NULL DEFAULT 0,
  fetch_error text,
  CONSTRAINT activities_account_path UNIQUE (account_id, path),
  CONSTRAINT activities_detail_state CHECK (detail_state IN ('wanted', 'awaiting_samples', 'mirrored', 'failed')),
  CONSTRAINT activities_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
CREATE INDEX activities_account_started ON training.activities (account_id, started_at DESC, activity_id DESC);
CREATE INDEX activities_newest ON training.activities (coalesce(started_at, '-infinity') DESC, activity_id DESC)
  WHERE absent_since IS NULL;
CREATE INDEX activities_to_fetch ON training.activities (account_id, started_at DESC)
  WHERE detail_state = 'wanted' OR next_fetch_at IS NOT NULL;
-- Expressions of built-in types: a query that writes the same point or box is served by them, without an extension.
CREATE INDEX activities_start ON training.activities USING gist (point(start_lng, start_lat));
CREATE INDEX activities_box ON training.activities USING gist (box(point(west, south), point(east, north)));
COMMENT ON TABLE training.activities IS 'One row an activity of the service''s list. The list fills name to started_at_local; the detail fills the load and signature columns.';
COMMENT ON COLUMN training.activities.activity_id IS 'Key of the activity in this database';
COMMENT ON COLUMN training.activities.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.activities.path IS 'The service''s identifier of the activity, unique in an account';
COMMENT ON COLUMN training.activities.name IS 'Name';
COMMENT ON COLUMN training.activities.description IS 'Description; NULL when the service sends none';
COMMENT ON COLUMN training.activities.activity_type IS 'Type in the words of the service, such as Cycling';
COMMENT ON COLUMN training.activities.started_at IS 'Start; NULL when the date the service sent cannot be read';
COMMENT ON COLUMN training.activities.timezone IS 'Time zone of the start as the service sent it: zone name, abbreviation or UTC offset';
COMMENT ON COLUMN training.activities.started_at_local IS 'Start on the wall clock of that time zone';
COMMENT ON COLUMN training.activities.detail_state IS 'wanted: to be fetched; awaiting_samples: fetched, samples not there yet; mirrored: as the service has it; failed: the last answer could not be used, see fetch_error and next_fetch_at';
COMMENT ON COLUMN training.activities.sample_count IS 'Number of rows in samples; NULL while none were ever written';
COMMENT ON COLUMN training.activities.elapsed_s IS 'Derived: seconds from the first sample to the last';
COMMENT ON COLUMN training.activities.samples_at IS 'When the answer was asked for that the rows of samples were written from; NULL while none were ever written';
COMMENT ON COLUMN training.activities.start_lat IS 'Derived: latitude of the first sample that has a position, degrees; NULL without one. A latitude and longitude of exactly 0 count as no position: devices write them before they have one. Rides that began near a place: WHERE point(start_lng, start_lat) <@ box(point(WEST, SOUTH), point(EAST, NORTH)), which an index serves';
COMMENT ON COLUMN training.activities.start_lng IS 'Derived: longitude of the same sample, degrees; NULL without one';
COMMENT ON COLUMN training.activities.south IS 'Derived: lowest latitude of the samples, degrees; NULL without a position. Rides that may have passed a place: WHERE box(point(west, south), point(east, north)) && box(…), which an index serves';
COMMENT ON COLUMN training.activities.north IS 'Derived: highest latitude of the samples, degrees; NULL without a position';
COMMENT ON COLUMN training.activities.west IS 'Derived: lowest longitude of the samples, degrees; NULL without a position. The box of a ride across the 180th meridian reaches around the whole earth, from -180 to 180';
COMMENT ON COLUMN training.activities.east IS 'Derived: highest longitude of the samples, degrees; NULL without a position';
COMMENT ON COLUMN training.activities.max_power IS 'Highest power, W';
COMMENT ON COLUMN training.activities.avg_power IS 'Mean power, W';
COMMENT ON COLUMN training.activities.max_cadence IS 'Highest cadence, 1/min';
COMMENT ON COLUMN training.activities.total_elevation_gain IS 'Climbed height; unit not told by the service (read as m)';
COMMENT ON COLUMN training.activities.total_calories IS 'Energy; unit not told by the service (read as kcal)';
COMMENT ON COLUMN training.activities.xss IS 'Training load score, total; unit not told by the service';
COMMENT ON COLUMN training.activities.xlss IS 'Training load score, low part; unit not told by the service';
COMMENT ON COLUMN training.activities.xhss IS 'Training load score, high part; unit not told by the service';
COMMENT ON COLUMN training.activities.xpss IS 'Training load score, peak part; unit not told by the service';
COMMENT ON COLUMN training.activities.xep IS 'Summary number xep of the service; unit not told by the service';
COMMENT ON COLUMN training.activities.mep IS 'Summary number mep of the service; unit not told by the service';
COMMENT ON COLUMN training.activities.tws IS 'Summary number tws of the service; unit not told by the service';
COMMENT ON COLUMN training.activities.sp IS 'Summary number sp of the service; unit not told by the service';
COMMENT ON COLUMN training.activities.sfd IS 'Summary number sfd of the service; unit not told by the service';
COMMENT ON COLUMN training.activities.focus IS 'Focus, in the words of the service';
COMMENT ON COLUMN training.activities.specificity IS 'Specificity, in the words of the service';
COMMENT ON COLUMN training.activities.difficulty IS 'Difficulty score; unit not told by the service';
COMMENT ON COLUMN training.activities.difficulty_rating IS 'Difficulty in words';
COMMENT ON COLUMN training.activities.distance IS 'Distance as sent, km';
COMMENT ON COLUMN training.activities.duration IS 'Duration as sent; the service''s document says minutes, its answers read as seconds; elapsed_s is certain';
COMMENT ON COLUMN training.activities.sig_ftp IS 'Threshold power after this activity, W';
COMMENT ON COLUMN training.activities.sig_atc IS 'Signature number atc after this activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.activities.sig_pp IS 'Peak power after this activity, W';
COMMENT ON COLUMN training.activities.prev_sig_ftp IS 'Threshold power before this activity, W';
COMMENT ON COLUMN training.activities.prev_sig_atc IS 'Signature number atc before this activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.activities.prev_sig_pp IS 'Peak power before this activity, W';
COMMENT ON COLUMN training.activities.prev_sig_ltp IS 'Lower threshold power before this activity, W';
COMMENT ON COLUMN training.activities.medal IS 'Medal, a whole number of the service; 0 is none';
COMMENT ON COLUMN training.activities.breakthrough IS 'Breakthrough, a whole number of the service; 0, -1 and NULL are none';
COMMENT ON COLUMN training.activities.total_grams_carbs IS 'Carbohydrates burnt, g';
COMMENT ON COLUMN training.activities.total_grams_fat IS 'Fat burnt, g';
COMMENT ON COLUMN training.activities.progression_date IS 'Day of the progression numbers as the service writes it';
COMMENT ON COLUMN training.activities.tl_ftp IS 'Training load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.activities.tl_hie IS 'Training load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.activities.tl_pp IS 'Training load of peak power; unit not told by the service';
COMMENT ON COLUMN training.activities.rl_ftp IS 'Recovery load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.activities.rl_hie IS 'Recovery load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.activities.rl_pp IS 'Recovery load of peak power; unit not told by the service';
COMMENT ON COLUMN training.activities.form IS 'Form; unit not told by the service';
COMMENT ON COLUMN training.activities.training_status IS 'Training status as a number; unit not told by the service';
COMMENT ON COLUMN training.activities.freshness IS 'Freshness, in the words of the service';
COMMENT ON COLUMN training.activities.street_view IS 'Address of a street picture';
COMMENT ON COLUMN training.activities.activity_map IS 'Address of a map picture';
COMMENT ON COLUMN training.activities.chart_view IS 'Address of the chart';
COMMENT ON COLUMN training.activities.summary IS 'The whole summary as the service sent it, unknown fields too: a number that came as a text is a text here. Numbers have the precision of a double; raw_documents has every digit.';
COMMENT ON COLUMN training.activities.absent_since IS 'When the activity was first found missing in the list of the service; NULL while it is listed. Rows are never deleted';
COMMENT ON COLUMN training.activities.first_seen_at IS 'When the activity was first seen, in the list or as the answer to an upload';
COMMENT ON COLUMN training.activities.updated_at IS 'When a value that the service tells of the activity, its samples or its absence last changed here; what serves fetching does not count. See changes';
COMMENT ON COLUMN training.activities.listed_at IS 'When a poll last named the activity, or the list last had something new of it';
COMMENT ON COLUMN training.activities.fetched_at IS 'When the answer that this row shows was asked for; NULL before the first';
COMMENT ON COLUMN training.activities.wanted_at IS 'When the activity was last marked as wanted';
COMMENT ON COLUMN training.activities.list_fields IS 'Name, description, type and start as the activity list last had them; what differs from it is a change';
COMMENT ON COLUMN training.activities.detail_fields IS 'The same as the last detail had them, without what it did not tell; in the row it goes before the list, but for a later rename';
COMMENT ON COLUMN training.activities.summary_hash IS 'Hash of the last summary, to tell change from no change';
COMMENT ON COLUMN training.activities.next_fetch_at IS 'When it is asked for (again); NULL: at once when wanted, else not by itself';
COMMENT ON COLUMN training.activities.fetch_attempts IS 'Fetches since the last complete one';
COMMENT ON COLUMN training.activities.fetch_error IS 'Why the last fetch failed; NULL when it did not';

CREATE TABLE training.activity_revisions (
  activity_id integer NOT NULL,
  observed_at timestamptz NOT NULL,
  changes jsonb NOT NULL,
  CONSTRAINT activity_revisions_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
-- A published table without a primary key refuses UPDATE and DELETE unless its whole rows are its identity.
ALTER TABLE training.activity_revisions REPLICA IDENTITY FULL;
CREATE INDEX activity_revisions_activity ON training.activity_revisions (activity_id, observed_at);
COMMENT ON TABLE training.activity_revisions IS 'What changed in an activity after it was first fetched, one row a change seen.';
COMMENT ON COLUMN training.activity_revisions.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.activity_revisions.observed_at IS 'When the changed answer was asked for';
COMMENT ON COLUMN training.activity_revisions.changes IS 'Column names with the value before and the value after, in the units of those columns: {"xss":[old,new]}';

CREATE TABLE training.raw_documents (
  activity_id integer PRIMARY KEY,
  fetched_at timestamptz NOT NULL,
  sha256 text NOT NULL,
  encoding text NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT raw_documents_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
-- The bodies are compressed already.
ALTER TABLE training.raw_documents ALTER COLUMN body SET STORAGE EXTERNAL;
-- A row is replaced as a whole, with hundreds of kilobytes: by the default, a fifth of the table, that room would be free late.
ALTER TABLE training.raw_documents SET (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE training.raw_documents IS 'The answer that the samples of an activity were made from, as the service sent it, compressed. One row an activity: the next answer with samples replaces it, or removes it when MUSETTE_KEEP_RAW is false, and autovacuum frees the room. musette rebuild makes everything that is derived from it anew.';
COMMENT ON COLUMN training.raw_documents.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.raw_documents.fetched_at IS 'When the answer was asked for';
COMMENT ON COLUMN training.raw_documents.sha256 IS 'SHA-256 of the answer before compression, hex';
COMMENT ON COLUMN training.raw_documents.encoding IS 'Compression of body: gzip or identity';
COMMENT ON COLUMN training.raw_documents.body IS 'The compressed bytes of the answer';

-- Columns of eight bytes come first, so that no row holds padding.
CREATE TABLE training.samples (
  t timestamptz,
  lat double precision,
  lng double precision,
  activity_id integer NOT NULL,
  power real,
  mpa real,
  cad real,
  alt real,
  hr real,
  spd real,
  tgt real,
  dist real,
  tws real,
  xds real,
  p_raw real,
  lws real,
  hws real,
  pws real,
  ordinal integer
);
-- Samples are replaced a whole activity at a time: by the default, a fifth of the table, millions of dead rows would gather.
ALTER TABLE training.samples SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- The planner needs the number of activities only: 3,000 rows give it in a tenth of the time that 30,000 take.
ALTER TABLE training.samples ALTER COLUMN activity_id SET STATISTICS 10;
ALTER TABLE training.samples REPLICA IDENTITY FULL;
CREATE INDEX samples_activity ON training.samples USING brin (activity_id int4_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = true);
CREATE INDEX samples_t ON training.samples USING brin (t timestamptz_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = true);
COMMENT ON TABLE training.samples IS 'One row a second of an activity as the service sent it. An activity has all of its samples or none: they are replaced together. BRIN indexes on activity_id and t make both quick to select by. To join, give the activities one by one: FROM activities a CROSS JOIN LATERAL (SELECT … FROM samples WHERE activity_id = a.activity_id) s; a plain JOIN of a few activities may read the whole table.';
COMMENT ON COLUMN training.samples.t IS 'Time of the sample; a sample whose time cannot be read is not here, but in raw_documents and counted in drift';
COMMENT ON COLUMN training.samples.lat IS 'Latitude, degrees';
COMMENT ON COLUMN training.samples.lng IS 'Longitude, degrees';
COMMENT ON COLUMN training.samples.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.samples.power IS 'Power, W; a trailing mean of about 5 s, see p_raw';
COMMENT ON COLUMN training.samples.mpa IS 'Maximal power available, W';
COMMENT ON COLUMN training.samples.cad IS 'Cadence, 1/min';
COMMENT ON COLUMN training.samples.alt IS 'Altitude; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples.hr IS 'Heart rate, 1/min';
COMMENT ON COLUMN training.samples.spd IS 'Speed as sent; unit not told by the service, read as m/h and not reliable on runs: derive speed from dist';
COMMENT ON COLUMN training.samples.tgt IS 'Target power of a guided workout; unit not told by the service (read as W)';
COMMENT ON COLUMN training.samples.dist IS 'Distance so far; unit not told by the service (read as m)';
COMMENT ON COLUMN training.samples.tws IS 'Running total of tws, ends at the xss of the activity; unit not told by the service';
COMMENT ON COLUMN training.samples.xds IS 'Sample number xds of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.p_raw IS 'Power of this second before smoothing, W';
COMMENT ON COLUMN training.samples.lws IS 'Sample number lws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.hws IS 'Sample number hws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.pws IS 'Sample number pws of the service; unit not told by the service';
COMMENT ON COLUMN training.samples.ordinal IS 'Place among the samples of the activity that share this time, from 1; NULL where no other has it. ORDER BY t, ordinal is the order of sample_extras';

CREATE TABLE training.sample_extras (
  activity_id integer NOT NULL,
  field text NOT NULL,
  "values" double precision[] NOT NULL,
  others jsonb,
  CONSTRAINT sample_extras_activity_id_field_pk PRIMARY KEY (activity_id, field),
  CONSTRAINT sample_extras_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
COMMENT ON TABLE training.sample_extras IS 'Fields of the samples that have no column, one row a field.';
COMMENT ON COLUMN training.sample_extras.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.sample_extras.field IS 'Name of the field as the service sends it';
COMMENT ON COLUMN training.sample_extras.values IS 'One number a sample, in the order of t and ordinal, see the view sample_extra_values; null where the sample has none; unit not told by the service';
COMMENT ON COLUMN training.sample_extras.others IS 'Values that are no numbers (text, lists, objects), by their place in values from 1; NULL where all are numbers or missing';
-- Numbers with all their digits hardly compress, and to try it takes longer than to write them.
ALTER TABLE training.sample_extras ALTER COLUMN "values" SET STORAGE EXTERNAL;

CREATE TABLE training.power_curves (
  activity_id integer NOT NULL,
  duration_s integer NOT NULL,
  watts real NOT NULL,
  account_id integer,
  season integer,
  started_at_local timestamp,
  source text,
  CONSTRAINT power_curves_activity_id_duration_s_pk PRIMARY KEY (activity_id, duration_s),
  CONSTRAINT power_curves_source CHECK (source IN ('p_raw', 'power')),
  CONSTRAINT power_curves_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
CREATE INDEX power_curves_best ON training.power_curves (account_id, season, duration_s, watts DESC, started_at_local, activity_id);
COMMENT ON TABLE training.power_curves IS 'Derived: the best mean power of an activity for about 60 durations. Recording gaps count as zero watts.';
COMMENT ON COLUMN training.power_curves.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.power_curves.duration_s IS 'Length of the window, s';
COMMENT ON COLUMN training.power_curves.watts IS 'Best mean power in any window of that length, W; from p_raw where the activity has it, else from power, see source. Recording gaps count as zero watts';
COMMENT ON COLUMN training.power_curves.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.power_curves.season IS 'Derived: calendar year of the activity on its own wall clock; NULL when its start cannot be read. For the view power_bests';
COMMENT ON COLUMN training.power_curves.started_at_local IS 'Start of the activity on its own wall clock; NULL when it cannot be read. For the view power_bests';
COMMENT ON COLUMN training.power_curves.source IS 'Column of samples that the point was computed from: p_raw (power of each second) or power (mean of 5 s), which is lower over short durations; NULL when it is not known any more';

CREATE TABLE training.activity_intensity (
  activity_id integer PRIMARY KEY,
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
  month date NOT NULL DEFAULT '-infinity',
  absent boolean NOT NULL DEFAULT false,
  CONSTRAINT activity_intensity_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE CASCADE
);
CREATE INDEX activity_intensity_peaks ON training.activity_intensity (account_id, month, hr_peak DESC) WHERE NOT absent;
COMMENT ON TABLE training.activity_intensity IS 'Derived: how many seconds of an activity were how hard, counted once when its samples are written; one row an activity that has samples. Each second with a sample counts once (of several samples in one second the last one), recording gaps do not count. Power is p_raw where the activity has it, else power. Read it through the view ride_intensity.';
COMMENT ON COLUMN training.activity_intensity.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.activity_intensity.ftp IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written; NULL when the service told none, and then there are no zones';
COMMENT ON COLUMN training.activity_intensity.power_z1_s IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z2_s IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z3_s IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z4_s IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z5_s IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z6_s IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.power_z7_s IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.above_ftp_s IS 'Derived: seconds above ftp; NULL without power or ftp';
COMMENT ON COLUMN training.activity_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa); NULL when no second has both power and mpa';
COMMENT ON COLUMN training.activity_intensity.hr_peak IS 'Derived: the highest heart rate that at least 10 s of the activity reached, 1/min, so that a spike of a sensor does not count; NULL when none did';
COMMENT ON COLUMN training.activity_intensity.hr_at_least_s IS 'Derived: element N is the seconds with a heart rate of N /min or more, up to the highest there was (beyond it the element is NULL: read it as 0); heart rates below 1 and from 251 on are not counted; NULL without heart rate';
COMMENT ON COLUMN training.activity_intensity.account_id IS 'Account of the activity, see accounts';
COMMENT ON COLUMN training.activity_intensity.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.activity_intensity.month IS 'Derived: first day of the month of day, -infinity when that is not known. For the view ride_intensity';
COMMENT ON COLUMN training.activity_intensity.absent IS 'Whether the service does not list the activity any more, see activities.absent_since';

CREATE FUNCTION musette.move_derived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE training.activity_intensity SET account_id = NEW.account_id, day = NEW.started_at_local::date,
    month = coalesce(date_trunc('month', NEW.started_at_local)::date, '-infinity'), absent = NEW.absent_since IS NOT NULL
  WHERE activity_id = NEW.activity_id;
  IF OLD.started_at_local IS DISTINCT FROM NEW.started_at_local THEN
    UPDATE training.power_curves SET account_id = NEW.account_id, season = date_part('year', NEW.started_at_local),
      started_at_local = NEW.started_at_local
    WHERE activity_id = NEW.activity_id;
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.move_derived() IS 'Keeps power_curves and activity_intensity in step with an activity whose start has moved, or that the service lists no more or again.';
CREATE TRIGGER move_derived AFTER UPDATE OF started_at_local, absent_since ON training.activities
  FOR EACH ROW WHEN (OLD.started_at_local IS DISTINCT FROM NEW.started_at_local
    OR (OLD.absent_since IS NULL) <> (NEW.absent_since IS NULL))
  EXECUTE FUNCTION musette.move_derived();

CREATE TABLE training.training_info (
  account_id integer NOT NULL,
  observed_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  status text,
  weight_kg double precision,
  ftp double precision,
  ltp double precision,
  hie double precision,
  pp double precision,
  tl_low double precision,
  tl_high double precision,
  tl_peak double precision,
  tl_total double precision,
  target_low double precision,
  target_high double precision,
  target_peak double precision,
  target_total double precision,
  source text,
  wotd_type text,
  wotd_name text,
  wotd_workout_id text,
  wotd_description text,
  wotd_difficulty double precision,
  wotd_url text,
  raw jsonb,
  CONSTRAINT training_info_account_id_observed_at_pk PRIMARY KEY (account_id, observed_at),
  CONSTRAINT training_info_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.training_info IS 'The training information of the service over time: a new row only when something changed.';
COMMENT ON COLUMN training.training_info.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.training_info.observed_at IS 'When this state was first seen';
COMMENT ON COLUMN training.training_info.last_seen_at IS 'When this state was last seen unchanged';
COMMENT ON COLUMN training.training_info.status IS 'Freshness status, in the words of the service';
COMMENT ON COLUMN training.training_info.weight_kg IS 'Weight of the rider, kg';
COMMENT ON COLUMN training.training_info.ftp IS 'Threshold power, W';
COMMENT ON COLUMN training.training_info.ltp IS 'Lower threshold power, W';
COMMENT ON COLUMN training.training_info.hie IS 'High intensity energy; unit not told by the service, read as kJ';
COMMENT ON COLUMN training.training_info.pp IS 'Peak power, W';
COMMENT ON COLUMN training.training_info.tl_low IS 'Training load, low; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_high IS 'Training load, high; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_peak IS 'Training load, peak; unit not told by the service';
COMMENT ON COLUMN training.training_info.tl_total IS 'Training load, total; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_low IS 'Recommended training load score, low; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_high IS 'Recommended training load score, high; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_peak IS 'Recommended training load score, peak; unit not told by the service';
COMMENT ON COLUMN training.training_info.target_total IS 'Recommended training load score, total; unit not told by the service';
COMMENT ON COLUMN training.training_info.source IS 'Where the training information comes from, in the words of the service';
COMMENT ON COLUMN training.training_info.wotd_type IS 'Workout of the day: None, Forecast or Scheduled';
COMMENT ON COLUMN training.training_info.wotd_name IS 'Workout of the day: name';
COMMENT ON COLUMN training.training_info.wotd_workout_id IS 'Workout of the day: identifier';
COMMENT ON COLUMN training.training_info.wotd_description IS 'Workout of the day: description';
COMMENT ON COLUMN training.training_info.wotd_difficulty IS 'Workout of the day: difficulty score; unit not told by the service';
COMMENT ON COLUMN training.training_info.wotd_url IS 'Workout of the day: address of its file';
COMMENT ON COLUMN training.training_info.raw IS 'The whole answer as the service sent it';

CREATE TABLE training.workouts (
  account_id integer,
  base_url text,
  path text NOT NULL,
  name text,
  description text,
  last_modified timestamptz,
  changed_at timestamptz,
  absent_since timestamptz,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  raw jsonb,
  CONSTRAINT workouts_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
ALTER TABLE training.workouts REPLICA IDENTITY FULL;
CREATE UNIQUE INDEX workouts_account_path ON training.workouts (account_id, path) WHERE account_id IS NOT NULL;
CREATE UNIQUE INDEX workouts_default_path ON training.workouts (base_url, path) WHERE account_id IS NULL;
COMMENT ON TABLE training.workouts IS 'The workout lists: those of an account, and the default list that needs no account.';
COMMENT ON COLUMN training.workouts.account_id IS 'Account, see accounts; NULL for the default list';
COMMENT ON COLUMN training.workouts.base_url IS 'Base URL of the service whose default list it is; NULL for the list of an account';
COMMENT ON COLUMN training.workouts.path IS 'The service''s identifier of the workout';
COMMENT ON COLUMN training.workouts.name IS 'Name';
COMMENT ON COLUMN training.workouts.description IS 'Description';
COMMENT ON COLUMN training.workouts.last_modified IS 'When the workout was last changed at the service; a time sent without a zone is read as UTC';
COMMENT ON COLUMN training.workouts.changed_at IS 'When the entry was first listed as it is now, by our clock';
COMMENT ON COLUMN training.workouts.absent_since IS 'When the workout was first found missing in its list; NULL while it is listed';
COMMENT ON COLUMN training.workouts.updated_at IS 'When the entry or its absence last changed here, see changes';
COMMENT ON COLUMN training.workouts.raw IS 'The whole entry as the service sent it';

CREATE TABLE training.workout_definitions (
  account_id integer NOT NULL,
  path text NOT NULL,
  resolved_at timestamptz,
  signature jsonb,
  name text,
  description text,
  raw jsonb,
  failed_at timestamptz,
  fetch_error text,
  CONSTRAINT workout_definitions_account_id_path_pk PRIMARY KEY (account_id, path),
  CONSTRAINT workout_definitions_account_id_accounts_account_id_fk
    FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.workout_definitions IS 'Each workout as the service resolved it to watts and seconds for an account, and why it could not be fetched. Its sets: workout_sets.';
COMMENT ON COLUMN training.workout_definitions.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_definitions.path IS 'Path of the workout, see workouts';
COMMENT ON COLUMN training.workout_definitions.resolved_at IS 'When the answer that workout_sets shows was asked for; NULL before the first';
COMMENT ON COLUMN training.workout_definitions.signature IS 'Signature of the rider at that time, as far as it is known here';
COMMENT ON COLUMN training.workout_definitions.name IS 'Name in the definition; the one of the list is in workouts';
COMMENT ON COLUMN training.workout_definitions.description IS 'Description in the definition';
COMMENT ON COLUMN training.workout_definitions.raw IS 'The whole definition as the service sent it, unknown fields too';
COMMENT ON COLUMN training.workout_definitions.failed_at IS 'When it was last asked for in vain; NULL when the last answer could be used';
COMMENT ON COLUMN training.workout_definitions.fetch_error IS 'Why it could not be had then';

CREATE TABLE training.workout_sets (
  account_id integer NOT NULL,
  path text NOT NULL,
  position integer NOT NULL,
  name text,
  index integer,
  power double precision,
  duration double precision,
  power_rest double precision,
  duration_rest double precision,
  interval_count integer,
  resolved_at timestamptz NOT NULL,
  signature jsonb,
  CONSTRAINT workout_sets_account_id_path_position_pk PRIMARY KEY (account_id, path, position),
  CONSTRAINT workout_sets_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.workout_sets IS 'The sets of a workout, resolved to watts and seconds for the signature of the rider.';
COMMENT ON COLUMN training.workout_sets.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_sets.path IS 'The service''s identifier of the workout';
COMMENT ON COLUMN training.workout_sets.position IS 'Place of the set in the workout, from 0';
COMMENT ON COLUMN training.workout_sets.name IS 'Name of the interval that the set belongs to';
COMMENT ON COLUMN training.workout_sets.index IS 'Position of that interval in the workout designer';
COMMENT ON COLUMN training.workout_sets.power IS 'Target power of the work part, W';
COMMENT ON COLUMN training.workout_sets.duration IS 'Length of the work part, s';
COMMENT ON COLUMN training.workout_sets.power_rest IS 'Power of the rest part, W; NULL for sets without rest';
COMMENT ON COLUMN training.workout_sets.duration_rest IS 'Length of the rest part, s; NULL for sets without rest';
COMMENT ON COLUMN training.workout_sets.interval_count IS 'Number of repetitions';
COMMENT ON COLUMN training.workout_sets.resolved_at IS 'When the service resolved the set';
COMMENT ON COLUMN training.workout_sets.signature IS 'Signature of the rider at that time, as far as it is known here';

CREATE TABLE training.workout_files (
  account_id integer NOT NULL,
  workout_id text NOT NULL,
  format text NOT NULL,
  content text NOT NULL,
  sha256 text NOT NULL,
  fetched_at timestamptz NOT NULL,
  made_for jsonb,
  CONSTRAINT workout_files_account_id_workout_id_format_pk PRIMARY KEY (account_id, workout_id, format),
  CONSTRAINT workout_files_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.workout_files IS 'Files of the workout of the day, the last content for each workout and format.';
COMMENT ON COLUMN training.workout_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.workout_files.workout_id IS 'Identifier of the workout';
COMMENT ON COLUMN training.workout_files.format IS 'erg or zwo';
COMMENT ON COLUMN training.workout_files.content IS 'The file';
COMMENT ON COLUMN training.workout_files.sha256 IS 'SHA-256 of the file, hex';
COMMENT ON COLUMN training.workout_files.fetched_at IS 'When the file was asked for';
COMMENT ON COLUMN training.workout_files.made_for IS 'Signature of the rider and entry of the workout that the file was made for, as far as they are known here';

CREATE TABLE training.uploads (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  file_name text NOT NULL,
  size_bytes bigint NOT NULL,
  started_at timestamptz,
  state text NOT NULL DEFAULT 'seen',
  activity_path text,
  activity_id integer,
  reason text,
  attempts integer NOT NULL DEFAULT 0,
  seen_at timestamptz NOT NULL,
  sent_at timestamptz,
  accepted_at timestamptz,
  mirrored_at timestamptz,
  next_try_at timestamptz,
  settle_after timestamptz,
  status_checks integer NOT NULL DEFAULT 0,
  CONSTRAINT uploads_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT uploads_state
    CHECK (state IN ('seen', 'sending', 'unconfirmed', 'accepted', 'mirrored', 'duplicate', 'refused')),
  CONSTRAINT uploads_account_id_accounts_account_id_fk
    FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE,
  CONSTRAINT uploads_activity_id_activities_activity_id_fk
    FOREIGN KEY (activity_id) REFERENCES training.activities ON DELETE SET NULL
);
CREATE INDEX uploads_activity ON training.uploads (activity_id);
CREATE INDEX uploads_due ON training.uploads (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX uploads_newest ON training.uploads (seen_at DESC, content_id);
COMMENT ON TABLE training.uploads IS 'The ledger of uploads: one row a FIT content, so that no file is sent twice.';
COMMENT ON COLUMN training.uploads.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.uploads.content_id IS 'SHA-256 of the FIT bytes, hex; of the file as it lay there when it held no whole FIT file';
COMMENT ON COLUMN training.uploads.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.uploads.size_bytes IS 'Size of that content, bytes';
COMMENT ON COLUMN training.uploads.started_at IS 'Start of the activity by the FIT content';
COMMENT ON COLUMN training.uploads.state IS 'seen: known, not sent; sending: being sent; unconfirmed: sent, answer lost; accepted: taken by the service; mirrored: its activity is here with samples; duplicate: the service had it already; refused: see reason';
COMMENT ON COLUMN training.uploads.activity_path IS 'The service''s identifier of the activity made from it';
COMMENT ON COLUMN training.uploads.activity_id IS 'Activity made from it, see activities';
COMMENT ON COLUMN training.uploads.reason IS 'Why it was refused or is not settled';
COMMENT ON COLUMN training.uploads.attempts IS 'Times it was sent';
COMMENT ON COLUMN training.uploads.seen_at IS 'When the content was first seen, or seen anew after a refusal or by --force';
COMMENT ON COLUMN training.uploads.sent_at IS 'When it was last sent';
COMMENT ON COLUMN training.uploads.accepted_at IS 'When the service took it';
COMMENT ON COLUMN training.uploads.mirrored_at IS 'When its activity was here with samples';
COMMENT ON COLUMN training.uploads.next_try_at IS 'When it is sent again (seen), given up by its sender (sending) or looked for (unconfirmed, accepted); NULL when nothing is due';
COMMENT ON COLUMN training.uploads.settle_after IS 'While unconfirmed: when an activity that is still not listed counts as not arrived';
COMMENT ON COLUMN training.uploads.status_checks IS 'Times the activity list was checked since the last change of state';

CREATE TABLE training.upload_copies (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  file_name text NOT NULL,
  seen_at timestamptz NOT NULL,
  CONSTRAINT upload_copies_account_id_content_id_file_name_pk PRIMARY KEY (account_id, content_id, file_name),
  CONSTRAINT upload_copies_upload
    FOREIGN KEY (account_id, content_id) REFERENCES training.uploads ON DELETE CASCADE
);
CREATE INDEX upload_copies_newest ON training.upload_copies (seen_at DESC, content_id);
COMMENT ON TABLE training.upload_copies IS 'Further files with bytes that the ledger knows under another name: one row a content and name. They are not sent.';
COMMENT ON COLUMN training.upload_copies.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.upload_copies.content_id IS 'SHA-256 of the bytes, hex, see uploads';
COMMENT ON COLUMN training.upload_copies.file_name IS 'Name of the further file';
COMMENT ON COLUMN training.upload_copies.seen_at IS 'When a file of this name and content was last seen';

CREATE TABLE training.fit_files (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  manufacturer text,
  product text,
  product_number integer,
  serial_number bigint,
  created_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  size_bytes bigint NOT NULL,
  parts integer NOT NULL,
  records integer NOT NULL,
  problem text,
  fields jsonb NOT NULL,
  read_at timestamptz NOT NULL,
  CONSTRAINT fit_files_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT fit_files_upload
    FOREIGN KEY (account_id, content_id) REFERENCES training.uploads ON DELETE CASCADE
);
COMMENT ON TABLE training.fit_files IS 'What the head unit wrote: one row a FIT activity of the ledger, read when it passes. The activity made from it is in uploads, and in the view ride_files the file of each activity.';
COMMENT ON COLUMN training.fit_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_files.content_id IS 'SHA-256 of the FIT bytes, hex, see uploads';
COMMENT ON COLUMN training.fit_files.manufacturer IS 'Maker of the device that wrote the file, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_files.product IS 'Product: the name that the file gives, else that of the FIT profile (Garmin only); NULL when neither has one';
COMMENT ON COLUMN training.fit_files.product_number IS 'Number of the product at its maker';
COMMENT ON COLUMN training.fit_files.serial_number IS 'Serial number of the device';
COMMENT ON COLUMN training.fit_files.created_at IS 'When the device began the file, by its own clock';
COMMENT ON COLUMN training.fit_files.started_at IS 'Start of the first session, else the first record';
COMMENT ON COLUMN training.fit_files.ended_at IS 'Last record';
COMMENT ON COLUMN training.fit_files.size_bytes IS 'Size of the FIT bytes';
COMMENT ON COLUMN training.fit_files.parts IS 'Number of FIT files that are chained in it; 1 as a rule';
COMMENT ON COLUMN training.fit_files.records IS 'Number of records, about one a second';
COMMENT ON COLUMN training.fit_files.problem IS 'Why not all of it could be read; NULL when all was';
COMMENT ON COLUMN training.fit_files.fields IS 'Every field of the messages file_id, file_creator and activity, each an object by the name of its message; see fit_laps';
COMMENT ON COLUMN training.fit_files.read_at IS 'When it was read';

CREATE TABLE training.fit_sessions (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  position integer NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  sport text,
  sub_sport text,
  elapsed_s double precision,
  timer_s double precision,
  moving_s double precision,
  distance_m double precision,
  work_j double precision,
  calories_kcal double precision,
  ascent_m double precision,
  descent_m double precision,
  avg_power double precision,
  max_power double precision,
  weighted_power double precision,
  right_power_pct double precision,
  avg_hr double precision,
  max_hr double precision,
  min_hr double precision,
  avg_cadence double precision,
  max_cadence double precision,
  avg_speed_mps double precision,
  max_speed_mps double precision,
  avg_temperature double precision,
  max_temperature double precision,
  start_lat double precision,
  start_lng double precision,
  end_lat double precision,
  end_lng double precision,
  fields jsonb NOT NULL,
  CONSTRAINT fit_sessions_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, position),
  CONSTRAINT fit_sessions_file
    FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files ON DELETE CASCADE
);
COMMENT ON TABLE training.fit_sessions IS 'The sessions of a FIT file as the device summed them up: one for a ride, several for a multisport activity.';
COMMENT ON COLUMN training.fit_sessions.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_sessions.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_sessions.position IS 'Place of the session in the file, from 1';
COMMENT ON COLUMN training.fit_sessions.started_at IS 'Start';
COMMENT ON COLUMN training.fit_sessions.ended_at IS 'End, the time of the message';
COMMENT ON COLUMN training.fit_sessions.sport IS 'Sport, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_sessions.sub_sport IS 'Kind of the sport, in the words of the FIT profile';
COMMENT ON COLUMN training.fit_sessions.elapsed_s IS 'Time from start to end, pauses included, s';
COMMENT ON COLUMN training.fit_sessions.timer_s IS 'Time while the timer ran, s';
COMMENT ON COLUMN training.fit_sessions.moving_s IS 'Time in motion, s; few devices write it';
COMMENT ON COLUMN training.fit_sessions.distance_m IS 'Distance, m';
COMMENT ON COLUMN training.fit_sessions.work_j IS 'Work, J';
COMMENT ON COLUMN training.fit_sessions.calories_kcal IS 'Energy, kcal';
COMMENT ON COLUMN training.fit_sessions.ascent_m IS 'Climbed height, m';
COMMENT ON COLUMN training.fit_sessions.descent_m IS 'Descended height, m';
COMMENT ON COLUMN training.fit_sessions.avg_power IS 'Mean power, W';
COMMENT ON COLUMN training.fit_sessions.max_power IS 'Highest power, W';
COMMENT ON COLUMN training.fit_sessions.weighted_power IS 'Weighted mean power as the device computed it, W (normalized_power of the FIT profile)';
COMMENT ON COLUMN training.fit_sessions.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it is';
COMMENT ON COLUMN training.fit_sessions.avg_hr IS 'Mean heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.min_hr IS 'Lowest heart rate, 1/min';
COMMENT ON COLUMN training.fit_sessions.avg_cadence IS 'Mean cadence, 1/min';
COMMENT ON COLUMN training.fit_sessions.max_cadence IS 'Highest cadence, 1/min';
COMMENT ON COLUMN training.fit_sessions.avg_speed_mps IS 'Mean speed, m/s';
COMMENT ON COLUMN training.fit_sessions.max_speed_mps IS 'Highest speed, m/s';
COMMENT ON COLUMN training.fit_sessions.avg_temperature IS 'Mean temperature, °C';
COMMENT ON COLUMN training.fit_sessions.max_temperature IS 'Highest temperature, °C';
COMMENT ON COLUMN training.fit_sessions.start_lat IS 'Latitude of the start, degrees';
COMMENT ON COLUMN training.fit_sessions.start_lng IS 'Longitude of the start, degrees';
COMMENT ON COLUMN training.fit_sessions.end_lat IS 'Latitude of the end, degrees';
COMMENT ON COLUMN training.fit_sessions.end_lng IS 'Longitude of the end, degrees';
COMMENT ON COLUMN training.fit_sessions.fields IS 'Every field of the message by its name in the FIT profile, in the unit of the profile, enumerations as numbers; field_N is a field that the profile does not know, as its raw number. Fields of developers are in developer_fields, by their own names';

CREATE TABLE training.fit_laps (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  position integer NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  sport text,
  sub_sport text,
  elapsed_s double precision,
  timer_s double precision,
  moving_s double precision,
  distance_m double precision,
  work_j double precision,
  calories_kcal double precision,
  ascent_m double precision,
  descent_m double precision,
  avg_power double precision,
  max_power double precision,
  weighted_power double precision,
  right_power_pct double precision,
  avg_hr double precision,
  max_hr double precision,
  min_hr double precision,
  avg_cadence double precision,
  max_cadence double precision,
  avg_speed_mps double precision,
  max_speed_mps double precision,
  avg_temperature double precision,
  max_temperature double precision,
  start_lat double precision,
  start_lng double precision,
  end_lat double precision,
  end_lng double precision,
  fields jsonb NOT NULL,
  trigger text,
  intensity text,
  CONSTRAINT fit_laps_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, position),
  CONSTRAINT fit_laps_file
    FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files ON DELETE CASCADE
);
COMMENT ON TABLE training.fit_laps IS 'The laps of a FIT file as the device summed them up. By activity: the view ride_laps.';
COMMENT ON COLUMN training.fit_laps.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_laps.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_laps.position IS 'Place of the lap in the file, from 1';
COMMENT ON COLUMN training.fit_laps.started_at IS 'Start';
COMMENT ON COLUMN training.fit_laps.ended_at IS 'End, the time of the message';
COMMENT ON COLUMN training.fit_laps.sport IS 'Sport, in the words of the FIT profile; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_laps.sub_sport IS 'Kind of the sport, in the words of the FIT profile';
COMMENT ON COLUMN training.fit_laps.elapsed_s IS 'Time from start to end, pauses included, s';
COMMENT ON COLUMN training.fit_laps.timer_s IS 'Time while the timer ran, s';
COMMENT ON COLUMN training.fit_laps.moving_s IS 'Time in motion, s; few devices write it';
COMMENT ON COLUMN training.fit_laps.distance_m IS 'Distance, m';
COMMENT ON COLUMN training.fit_laps.work_j IS 'Work, J';
COMMENT ON COLUMN training.fit_laps.calories_kcal IS 'Energy, kcal';
COMMENT ON COLUMN training.fit_laps.ascent_m IS 'Climbed height, m';
COMMENT ON COLUMN training.fit_laps.descent_m IS 'Descended height, m';
COMMENT ON COLUMN training.fit_laps.avg_power IS 'Mean power, W';
COMMENT ON COLUMN training.fit_laps.max_power IS 'Highest power, W';
COMMENT ON COLUMN training.fit_laps.weighted_power IS 'Weighted mean power as the device computed it, W (normalized_power of the FIT profile)';
COMMENT ON COLUMN training.fit_laps.right_power_pct IS 'Share of the right leg in the power, %; NULL where the device does not say which leg it is';
COMMENT ON COLUMN training.fit_laps.avg_hr IS 'Mean heart rate, 1/min';
COMMENT ON COLUMN training.fit_laps.max_hr IS 'Highest heart rate, 1/min';
COMMENT ON COLUMN training.fit_laps.min_hr IS 'Lowest heart rate, 1/min';
COMMENT ON COLUMN training.fit_laps.avg_cadence IS 'Mean cadence, 1/min';
COMMENT ON COLUMN training.fit_laps.max_cadence IS 'Highest cadence, 1/min';
COMMENT ON COLUMN training.fit_laps.avg_speed_mps IS 'Mean speed, m/s';
COMMENT ON COLUMN training.fit_laps.max_speed_mps IS 'Highest speed, m/s';
COMMENT ON COLUMN training.fit_laps.avg_temperature IS 'Mean temperature, °C';
COMMENT ON COLUMN training.fit_laps.max_temperature IS 'Highest temperature, °C';
COMMENT ON COLUMN training.fit_laps.start_lat IS 'Latitude of the start, degrees';
COMMENT ON COLUMN training.fit_laps.start_lng IS 'Longitude of the start, degrees';
COMMENT ON COLUMN training.fit_laps.end_lat IS 'Latitude of the end, degrees';
COMMENT ON COLUMN training.fit_laps.end_lng IS 'Longitude of the end, degrees';
COMMENT ON COLUMN training.fit_laps.fields IS 'Every field of the message by its name in the FIT profile, in the unit of the profile, enumerations as numbers; field_N is a field that the profile does not know, as its raw number. Fields of developers are in developer_fields, by their own names';
COMMENT ON COLUMN training.fit_laps.trigger IS 'Why the lap ended: manual, time, distance, positionStart, positionLap, positionWaypoint, positionMarked, sessionEnd, fitnessEquipment';
COMMENT ON COLUMN training.fit_laps.intensity IS 'What the lap was: active, rest, warmup, cooldown, recovery, interval, other';

CREATE TABLE training.fit_devices (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  position integer NOT NULL,
  device_index integer,
  kind text,
  manufacturer text,
  product text,
  product_number integer,
  serial_number bigint,
  software_version double precision,
  hardware_version integer,
  battery_voltage double precision,
  battery_status text,
  battery_level_pct integer,
  operating_s double precision,
  connection text,
  first_at timestamptz,
  last_at timestamptz,
  messages integer NOT NULL,
  fields jsonb NOT NULL,
  CONSTRAINT fit_devices_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, position),
  CONSTRAINT fit_devices_file
    FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files ON DELETE CASCADE
);
COMMENT ON TABLE training.fit_devices IS 'The devices and sensors that a FIT file names: one row a device, with what it said last of each thing.';
COMMENT ON COLUMN training.fit_devices.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_devices.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_devices.position IS 'Place of the device in the file, from 1';
COMMENT ON COLUMN training.fit_devices.device_index IS 'Number of the device in the file; 0 is the one that wrote it';
COMMENT ON COLUMN training.fit_devices.kind IS 'What it is, in the words of the FIT profile, such as bikePower or heartRate; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_devices.manufacturer IS 'Maker, in the words of the FIT profile';
COMMENT ON COLUMN training.fit_devices.product IS 'Product: the name that the file gives, else that of the FIT profile (Garmin only)';
COMMENT ON COLUMN training.fit_devices.product_number IS 'Number of the product at its maker';
COMMENT ON COLUMN training.fit_devices.serial_number IS 'Serial number';
COMMENT ON COLUMN training.fit_devices.software_version IS 'Version of its software';
COMMENT ON COLUMN training.fit_devices.hardware_version IS 'Version of its hardware';
COMMENT ON COLUMN training.fit_devices.battery_voltage IS 'Voltage of its battery, V, as it was told last';
COMMENT ON COLUMN training.fit_devices.battery_status IS 'State of its battery, as it was told last: new, good, ok, low, critical, charging, unknown';
COMMENT ON COLUMN training.fit_devices.battery_level_pct IS 'Charge of its battery, %, as it was told last';
COMMENT ON COLUMN training.fit_devices.operating_s IS 'Time of operation since its battery was new, s';
COMMENT ON COLUMN training.fit_devices.connection IS 'How it is connected: ant, antplus, bluetooth, bluetoothLowEnergy, wifi, local';
COMMENT ON COLUMN training.fit_devices.first_at IS 'When it was first named';
COMMENT ON COLUMN training.fit_devices.last_at IS 'When it was last named';
COMMENT ON COLUMN training.fit_devices.messages IS 'How often it was named';
COMMENT ON COLUMN training.fit_devices.fields IS 'Every field of its messages, the last value of each; see fit_laps';

CREATE TABLE training.fit_fields (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  position integer NOT NULL,
  name text,
  units text,
  application_id text,
  developer_index integer NOT NULL,
  field_number integer NOT NULL,
  native_field text,
  count integer NOT NULL,
  offsets_s integer[] NOT NULL,
  "values" double precision[] NOT NULL,
  fields jsonb NOT NULL,
  CONSTRAINT fit_fields_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, position),
  CONSTRAINT fit_fields_file
    FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files ON DELETE CASCADE
);
-- Numbers with all their digits hardly compress, see sample_extras.
ALTER TABLE training.fit_fields ALTER COLUMN "values" SET STORAGE EXTERNAL;
COMMENT ON TABLE training.fit_fields IS 'The fields that apps and sensors added to the records of a FIT file (developer fields), such as core temperature or muscle oxygen: one row a described field with its values. One row a value: the view fit_field_values. A field without a value is here, too.';
COMMENT ON COLUMN training.fit_fields.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_fields.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_fields.position IS 'Place of the field in the file, from 1';
COMMENT ON COLUMN training.fit_fields.name IS 'Name';
COMMENT ON COLUMN training.fit_fields.units IS 'Unit, in the words of the app';
COMMENT ON COLUMN training.fit_fields.application_id IS 'Identifier of the app, hex; NULL when the file names none';
COMMENT ON COLUMN training.fit_fields.developer_index IS 'Number of the app in the file';
COMMENT ON COLUMN training.fit_fields.field_number IS 'Number of the field of that app';
COMMENT ON COLUMN training.fit_fields.native_field IS 'Field of the FIT profile that it stands for, when it says so';
COMMENT ON COLUMN training.fit_fields.count IS 'Number of values in the records';
COMMENT ON COLUMN training.fit_fields.offsets_s IS 'Time from started_at of the file to each value, s';
COMMENT ON COLUMN training.fit_fields.values IS 'The values as the app wrote them, in units; of a list its first number; texts are left out';
COMMENT ON COLUMN training.fit_fields.fields IS 'Every field of its description; see fit_laps';

CREATE TABLE training.fit_originals (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  encoding text NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT fit_originals_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT fit_originals_encoding CHECK (encoding IN ('gzip')),
  CONSTRAINT fit_originals_file
    FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files ON DELETE CASCADE
);
-- The bodies are compressed already.
ALTER TABLE training.fit_originals ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON TABLE training.fit_originals IS 'The bytes of each FIT file that was read, unless MUSETTE_KEEP_FIT is false. musette export PATH --format fit writes them.';
COMMENT ON COLUMN training.fit_originals.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_originals.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_originals.encoding IS 'Compression of body: gzip';
COMMENT ON COLUMN training.fit_originals.body IS 'The compressed bytes; unpacked, their SHA-256 is content_id';

CREATE TABLE training.waiting_files (
  folder text NOT NULL,
  path text NOT NULL,
  account_name text,
  size_bytes bigint,
  code text NOT NULL,
  reason text NOT NULL,
  waiting_since timestamptz NOT NULL,
  looked_at timestamptz NOT NULL
);
ALTER TABLE training.waiting_files REPLICA IDENTITY FULL;
COMMENT ON TABLE training.waiting_files IS 'What waits in the drop folder and has no row in uploads yet, because it is not whole, cannot be read or belongs to nobody, and what is wrong with the folder itself. One row a file or folder, written by the daemon that watches; the first 1,000 of a folder.';
COMMENT ON COLUMN training.waiting_files.folder IS 'Path of the drop folder';
COMMENT ON COLUMN training.waiting_files.path IS 'Path of the file or folder in the drop folder; the path of the drop folder when that is what is wrong';
COMMENT ON COLUMN training.waiting_files.account_name IS 'Account whose file it is; NULL when it is no file';
COMMENT ON COLUMN training.waiting_files.size_bytes IS 'Size of the file, bytes; NULL when it is no file';
COMMENT ON COLUMN training.waiting_files.code IS 'Why, in a word: not_whole, unreadable_file, too_large, no_account; of the folder itself: vanished, accounts, read_only, text, unreadable, watch';
COMMENT ON COLUMN training.waiting_files.reason IS 'Why it waits, and what to do';
COMMENT ON COLUMN training.waiting_files.waiting_since IS 'Since when it lies there unchanged, or is wrong';
COMMENT ON COLUMN training.waiting_files.looked_at IS 'When the daemon last said so; a quarter of an hour ago at most while it runs';

CREATE TABLE training.sync_runs (
  run_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id integer,
  resource text NOT NULL,
  kind text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  outcome text NOT NULL DEFAULT 'running',
  listed integer,
  changed integer,
  fetched integer,
  absent integer,
  failed integer,
  error_code text,
  error text,
  bytes bigint,
  CONSTRAINT sync_runs_outcome CHECK (outcome IN ('running', 'done', 'failed', 'partial', 'abandoned')),
  CONSTRAINT sync_runs_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
CREATE INDEX sync_runs_account_started ON training.sync_runs (account_id, started_at DESC);
CREATE INDEX sync_runs_latest ON training.sync_runs (account_id, resource, kind, started_at DESC);
CREATE INDEX sync_runs_newest ON training.sync_runs (started_at DESC, run_id DESC);
COMMENT ON TABLE training.sync_runs IS 'One row a pass over one resource. Runs that ended well and changed nothing are kept for 90 days, the others for 400 days; the newest of each account, resource, kind, outcome and error_code stays for ever.';
COMMENT ON COLUMN training.sync_runs.run_id IS 'Key of the run';
COMMENT ON COLUMN training.sync_runs.account_id IS 'Account, see accounts; NULL for what belongs to none';
COMMENT ON COLUMN training.sync_runs.resource IS 'What was mirrored, such as activities; export: the whole history was written into a folder; backup: the whole database was written to a file; rebuild: everything derived from the stored answers was made anew';
COMMENT ON COLUMN training.sync_runs.kind IS 'Why it ran, such as poll, backfill or reconcile; of an export: schedule or by_hand; of a backup: schedule; of a rebuild: by_hand';
COMMENT ON COLUMN training.sync_runs.started_at IS 'Start of the run';
COMMENT ON COLUMN training.sync_runs.finished_at IS 'End of the run; NULL while it runs';
COMMENT ON COLUMN training.sync_runs.outcome IS 'running; done; partial: done, but some items failed; failed; abandoned: the program ended in the middle';
COMMENT ON COLUMN training.sync_runs.listed IS 'Entries in the list of the service; files of an export; activities of a rebuild';
COMMENT ON COLUMN training.sync_runs.changed IS 'Entries new or marked as changed; files that an export wrote; activities rebuilt';
COMMENT ON COLUMN training.sync_runs.fetched IS 'Items fetched';
COMMENT ON COLUMN training.sync_runs.absent IS 'Items found missing at the service; files that an export removed';
COMMENT ON COLUMN training.sync_runs.failed IS 'Items that failed';
COMMENT ON COLUMN training.sync_runs.error_code IS 'Stable word for the error';
COMMENT ON COLUMN training.sync_runs.error IS 'The error in words';
COMMENT ON COLUMN training.sync_runs.bytes IS 'Size of the file that a backup wrote, bytes';

CREATE TABLE training.sync_cursors (
  account_id integer NOT NULL,
  resource text NOT NULL,
  updated_from timestamptz,
  advanced_at timestamptz,
  list_cap integer,
  list_checked_at timestamptz,
  CONSTRAINT sync_cursors_account_id_resource_pk PRIMARY KEY (account_id, resource),
  CONSTRAINT sync_cursors_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE training.sync_cursors IS 'How far each resource has been mirrored.';
COMMENT ON COLUMN training.sync_cursors.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.sync_cursors.resource IS 'What is mirrored, such as activities';
COMMENT ON COLUMN training.sync_cursors.updated_from IS 'Changes up to this moment, by the clock of the service, are known here';
COMMENT ON COLUMN training.sync_cursors.advanced_at IS 'When the cursor was last moved';
COMMENT ON COLUMN training.sync_cursors.list_cap IS 'Longest list the service gives at once, when it was found to cut lists; NULL: not known to cut';
COMMENT ON COLUMN training.sync_cursors.list_checked_at IS 'When the list of the service was last compared with its parts';

CREATE TABLE training.drift (
  endpoint text NOT NULL,
  field text NOT NULL,
  kind text NOT NULL,
  example text,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  times bigint NOT NULL DEFAULT 1,
  CONSTRAINT drift_endpoint_field_kind_pk PRIMARY KEY (endpoint, field, kind)
);
COMMENT ON TABLE training.drift IS 'What the service sends and its document does not say, or sends otherwise; the 5,000 differences that were seen last.';
COMMENT ON COLUMN training.drift.endpoint IS 'Endpoint whose answer differed';
COMMENT ON COLUMN training.drift.field IS 'Field in the answer';
COMMENT ON COLUMN training.drift.kind IS 'What differed, such as unknown or type';
COMMENT ON COLUMN training.drift.example IS 'One value as it was sent, cut';
COMMENT ON COLUMN training.drift.first_seen_at IS 'When it was first seen';
COMMENT ON COLUMN training.drift.last_seen_at IS 'When it was last seen';
COMMENT ON COLUMN training.drift.times IS 'How often it was seen';

CREATE TABLE musette.credentials (
  account_id integer PRIMARY KEY,
  client_id text NOT NULL,
  client_secret bytea NOT NULL,
  access_token bytea NOT NULL,
  refresh_token bytea NOT NULL,
  username text,
  password bytea,
  key_id text NOT NULL,
  obtained_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  not_before timestamptz,
  unreadable boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT credentials_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE musette.credentials IS 'Tokens, sealed with AES-256-GCM: one row an account.';
COMMENT ON COLUMN musette.credentials.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.credentials.client_id IS 'Client identifier at the service';
COMMENT ON COLUMN musette.credentials.client_secret IS 'Client secret, sealed';
COMMENT ON COLUMN musette.credentials.access_token IS 'Access token, sealed';
COMMENT ON COLUMN musette.credentials.refresh_token IS 'Refresh token, sealed';
COMMENT ON COLUMN musette.credentials.username IS 'Login name, where the password is kept or was asked for';
COMMENT ON COLUMN musette.credentials.password IS 'Password, sealed; NULL unless the user asked to keep it';
COMMENT ON COLUMN musette.credentials.key_id IS 'First 8 hex digits of the SHA-256 of the sealing key';
COMMENT ON COLUMN musette.credentials.obtained_at IS 'When the tokens were issued';
COMMENT ON COLUMN musette.credentials.expires_at IS 'When the access token ends';
COMMENT ON COLUMN musette.credentials.failures IS 'Failed refreshes since the last good one';
COMMENT ON COLUMN musette.credentials.not_before IS 'No refresh before this moment';
COMMENT ON COLUMN musette.credentials.unreadable IS 'Whether the account is parked because its tokens cannot be read; a reading that succeeds, or a login, ends that.';
COMMENT ON COLUMN musette.credentials.updated_at IS 'When the row was last written';

CREATE TABLE musette.ended_sessions (
  session_id text PRIMARY KEY,
  ends_at timestamptz NOT NULL
);
COMMENT ON TABLE musette.ended_sessions IS 'Sessions of the dashboard that were signed out before their time; removed once they have ended by themselves.';
COMMENT ON COLUMN musette.ended_sessions.session_id IS 'The random id in the session cookie; without its signature it opens nothing.';
COMMENT ON COLUMN musette.ended_sessions.ends_at IS 'When the session would have ended by itself.';

CREATE TABLE musette.rebuilds (
  account_id integer PRIMARY KEY,
  version text NOT NULL,
  started_at timestamptz NOT NULL,
  through integer NOT NULL,
  failed integer[] NOT NULL,
  CONSTRAINT rebuilds_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE musette.rebuilds IS 'How far a rebuild has come that was stopped, so that the next one goes on there: one row an account, removed when the rebuild ends.';
COMMENT ON COLUMN musette.rebuilds.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.rebuilds.version IS 'Version of musette that rebuilds; another one begins again';
COMMENT ON COLUMN musette.rebuilds.started_at IS 'When the rebuild began';
COMMENT ON COLUMN musette.rebuilds.through IS 'Activity id: this one and all lower ones are done';
COMMENT ON COLUMN musette.rebuilds.failed IS 'Activity ids among them that could not be rebuilt';

CREATE TABLE musette.locks (
  name text PRIMARY KEY
);
COMMENT ON TABLE musette.locks IS 'Rows that transactions lock, so that one at a time does what they name; nothing reads them.';
COMMENT ON COLUMN musette.locks.name IS 'What one transaction at a time does, and for which account, service or folder';
CREATE VIEW musette.lock_export AS SELECT true AS lockable;
COMMENT ON VIEW musette.lock_export IS 'Locked by the process that writes an export of the whole history';
COMMENT ON COLUMN musette.lock_export.lockable IS 'Always true: the lock is what matters';
CREATE VIEW musette.lock_backup AS SELECT true AS lockable;
COMMENT ON VIEW musette.lock_backup IS 'Locked by the process that writes a scheduled backup';
COMMENT ON COLUMN musette.lock_backup.lockable IS 'Always true: the lock is what matters';

-- The migrator makes this table before it runs the first migration.
COMMENT ON TABLE musette.migrations IS 'Journal of the migrations that this database has seen.';
COMMENT ON COLUMN musette.migrations.id IS 'Key';
COMMENT ON COLUMN musette.migrations.hash IS 'SHA-256 of the migration';
COMMENT ON COLUMN musette.migrations.created_at IS 'Moment the migration was generated, ms since 1970';

CREATE TABLE training.changes (
  change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id integer,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL,
  path text,
  detail jsonb NOT NULL DEFAULT '{}',
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CONSTRAINT changes_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
CREATE INDEX changes_at ON training.changes (at);
COMMENT ON TABLE training.changes IS 'The change feed: one row for each thing that became different, written in the transaction that changed it. Programs read it through the view changes_settled; at each commit with changes Postgres sends a notification on the channel musette_changes. Rows are kept for 90 days.';
COMMENT ON COLUMN training.changes.change_id IS 'Number of the change; a later commit has a higher number, and numbers may be missing';
COMMENT ON COLUMN training.changes.account_id IS 'Account, see accounts; NULL for the default workout list';
COMMENT ON COLUMN training.changes.at IS 'When it was recorded';
COMMENT ON COLUMN training.changes.kind IS 'What happened: activity.new, activity.changed, activity.samples (samples written or replaced, or an answer without any), activity.absent, activity.back; training_info.new, training_info.changed; workout.new, workout.changed, workout.absent, workout.back; upload.accepted, upload.mirrored, upload.duplicate, upload.refused; login.lost, login.restored';
COMMENT ON COLUMN training.changes.path IS 'The service''s identifier of the activity or workout; of an upload that of its activity; NULL when there is none';
COMMENT ON COLUMN training.changes.detail IS 'Of …new: column names with their values; of …changed: column names with the value before and the value after, {"xss":[old,new]}, in the units of those columns (summary_hash stands for summary); of the others what they are about: sample_count, elapsed_s in s, start and box in degrees, absent_since, content_id, file_name and reason';
COMMENT ON COLUMN training.changes.transaction_id IS 'Transaction that wrote the row, for the view changes_settled';

CREATE FUNCTION musette.content(activity training.activities) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT to_jsonb(activity) - '{summary,detail_state,first_seen_at,updated_at,listed_at,fetched_at,wanted_at,list_fields,detail_fields,next_fetch_at,fetch_attempts,fetch_error}'::text[]
$$;
COMMENT ON FUNCTION musette.content(training.activities) IS 'The columns of an activity that its changes are about: all but those that serve fetching. The hash of the summary stands for the summary.';
CREATE FUNCTION musette.content(workout training.workouts) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT to_jsonb(workout) - '{changed_at,updated_at}'::text[]
$$;
COMMENT ON FUNCTION musette.content(training.workouts) IS 'The columns of a workout that its changes are about.';
CREATE FUNCTION musette.content(info training.training_info) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT to_jsonb(info) - '{last_seen_at,raw}'::text[]
$$;
COMMENT ON FUNCTION musette.content(training.training_info) IS 'The columns of training information that its changes are about.';

CREATE FUNCTION musette.differences(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(key, jsonb_build_array(before -> key, value)), '{}')
  FROM jsonb_each(after) WHERE before -> key IS DISTINCT FROM value
$$;
COMMENT ON FUNCTION musette.differences(jsonb, jsonb) IS 'The members of two objects that differ: {"name":[before,after]}.';

CREATE FUNCTION musette.record_change(account_id integer, kind text, path text, detail jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- One transaction after the other, from here to its commit: a number that was given earlier is never committed later.
  INSERT INTO musette.locks (name) VALUES ('changes') ON CONFLICT DO NOTHING;
  PERFORM FROM musette.locks WHERE name = 'changes' FOR UPDATE;
  INSERT INTO training.changes (account_id, kind, path, detail) VALUES (account_id, kind, path, detail);
  NOTIFY musette_changes;
END
$$;
COMMENT ON FUNCTION musette.record_change(integer, text, text, jsonb) IS 'Records a change. Called at the end of a transaction, by deferred triggers, so that its lock is held for a moment only.';

CREATE FUNCTION musette.set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION musette.set_updated_at() IS 'Sets updated_at of a row whose content changes.';
CREATE TRIGGER set_updated_at BEFORE UPDATE ON training.activities
  FOR EACH ROW WHEN (musette.content(OLD) IS DISTINCT FROM musette.content(NEW)) EXECUTE FUNCTION musette.set_updated_at();
CREATE TRIGGER set_updated_at BEFORE UPDATE ON training.workouts
  FOR EACH ROW WHEN (musette.content(OLD) IS DISTINCT FROM musette.content(NEW)) EXECUTE FUNCTION musette.set_updated_at();

-- A record has only the columns of its own table, so what all three have is taken from its content.
CREATE FUNCTION musette.record_content_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  what CONSTANT text := TG_ARGV[0];
  of_samples CONSTANT text[] := '{samples_at,sample_count,elapsed_s,start_lat,start_lng,south,north,west,east}';
  apart CONSTANT text[] := of_samples || 'absent_since'::text;
  after CONSTANT jsonb := musette.content(NEW);
  before jsonb;
  account CONSTANT integer := (after ->> 'account_id')::integer;
  path CONSTANT text := after ->> 'path';
  changed jsonb;
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM musette.record_change(account, what || '.new', path, after - '{account_id,path}'::text[]);
    RETURN NULL;
  END IF;
  before := musette.content(OLD);
  IF after ->> 'absent_since' IS NULL AND before ->> 'absent_since' IS NOT NULL THEN
    PERFORM musette.record_change(account, what || '.back', path, jsonb_build_object('absent_since', before -> 'absent_since'));
  END IF;
  changed := musette.differences(before, after);
  IF changed - apart <> '{}' THEN
    PERFORM musette.record_change(account, what || '.changed', path, changed - apart);
  END IF;
  IF changed ?| of_samples THEN
    PERFORM musette.record_change(account, what || '.samples', path, jsonb_build_object('samples_at', after -> 'samples_at',
      'sample_count', after -> 'sample_count', 'elapsed_s', after -> 'elapsed_s', 'start_lat', after -> 'start_lat',
      'start_lng', after -> 'start_lng', 'south', after -> 'south', 'north', after -> 'north', 'west', after -> 'west',
      'east', after -> 'east'));
  END IF;
  IF after ->> 'absent_since' IS NOT NULL AND before ->> 'absent_since' IS NULL THEN
    PERFORM musette.record_change(account, what || '.absent', path, jsonb_build_object('absent_since', after -> 'absent_since'));
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.record_content_change() IS 'Records what an insert or update of an activity, a workout or training information changes.';
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.activities DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION musette.record_content_change('activity');
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.activities DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(OLD) IS DISTINCT FROM musette.content(NEW))
  EXECUTE FUNCTION musette.record_content_change('activity');
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.workouts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION musette.record_content_change('workout');
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.workouts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(OLD) IS DISTINCT FROM musette.content(NEW))
  EXECUTE FUNCTION musette.record_content_change('workout');
CREATE CONSTRAINT TRIGGER record_new AFTER INSERT ON training.training_info DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION musette.record_content_change('training_info');
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.training_info DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (musette.content(OLD) IS DISTINCT FROM musette.content(NEW))
  EXECUTE FUNCTION musette.record_content_change('training_info');

CREATE FUNCTION musette.record_upload_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM musette.record_change(NEW.account_id, 'upload.' || NEW.state, NEW.activity_path, jsonb_build_object(
    'content_id', NEW.content_id, 'file_name', NEW.file_name, 'reason', NEW.reason));
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.record_upload_change() IS 'Records that a file was accepted, mirrored, refused or is a duplicate.';
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.uploads DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.state <> NEW.state AND NEW.state IN ('accepted', 'mirrored', 'duplicate', 'refused'))
  EXECUTE FUNCTION musette.record_upload_change();

CREATE FUNCTION musette.record_login_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.needs_login THEN
    PERFORM musette.record_change(NEW.account_id, 'login.lost', NULL, jsonb_build_object('account', NEW.name, 'reason', NEW.last_error));
  ELSE
    PERFORM musette.record_change(NEW.account_id, 'login.restored', NULL, jsonb_build_object('account', NEW.name));
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION musette.record_login_change() IS 'Records that the login of an account was lost or works again.';
CREATE CONSTRAINT TRIGGER record_change AFTER UPDATE ON training.accounts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.needs_login <> NEW.needs_login) EXECUTE FUNCTION musette.record_login_change();

CREATE VIEW training.changes_settled AS
SELECT account_id, change_id, at, kind, path, detail
FROM training.changes
WHERE transaction_id < pg_snapshot_xmin(pg_current_snapshot()) OR transaction_id >= pg_snapshot_xmax(pg_current_snapshot());
COMMENT ON VIEW training.changes_settled IS 'The change feed for programs that go on from the highest change_id they have read: only changes before which no other can appear any more, because every transaction that was under way before has ended. A long transaction that writes, also in another database of the server, delays it.';
COMMENT ON COLUMN training.changes_settled.account_id IS 'Account, see accounts; NULL for the default workout list';
COMMENT ON COLUMN training.changes_settled.change_id IS 'Number of the change: read on with change_id > the highest one read, in this order; numbers may be missing';
COMMENT ON COLUMN training.changes_settled.at IS 'When it was recorded';
COMMENT ON COLUMN training.changes_settled.kind IS 'What happened, see changes';
COMMENT ON COLUMN training.changes_settled.path IS 'The service''s identifier of the activity or workout, see changes';
COMMENT ON COLUMN training.changes_settled.detail IS 'The values, see changes';

CREATE TABLE musette.webhooks (
  name text PRIMARY KEY,
  change_id bigint NOT NULL,
  added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  gone_at timestamptz
);
COMMENT ON TABLE musette.webhooks IS 'The webhooks of the file that MUSETTE_WEBHOOKS names, by their names: addresses and secrets are in that file only.';
COMMENT ON COLUMN musette.webhooks.name IS 'Name of the webhook in the file';
COMMENT ON COLUMN musette.webhooks.change_id IS 'Number of the last change that messages were made of, see training.changes; at first the newest one when the webhook was added';
COMMENT ON COLUMN musette.webhooks.added_at IS 'When the daemon first found it in the file';
COMMENT ON COLUMN musette.webhooks.gone_at IS 'When its receiver answered 410 Gone, so that it gets no messages until the next start of the daemon; NULL otherwise';

CREATE TABLE musette.webhook_messages (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id uuid NOT NULL DEFAULT gen_random_uuid(),
  webhook text NOT NULL,
  account_id integer,
  event text NOT NULL,
  occurred_at timestamptz NOT NULL,
  data jsonb NOT NULL,
  state text NOT NULL DEFAULT 'open',
  attempts integer NOT NULL DEFAULT 0,
  next_try_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  CONSTRAINT webhook_messages_message_id UNIQUE (message_id),
  CONSTRAINT webhook_messages_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE,
  CONSTRAINT webhook_messages_state CHECK (state IN ('open', 'delivered', 'given_up', 'dropped'))
);
CREATE INDEX webhook_messages_open ON musette.webhook_messages (webhook, account_id, number) WHERE state = 'open';
CREATE INDEX webhook_messages_ended ON musette.webhook_messages (ended_at);
COMMENT ON TABLE musette.webhook_messages IS 'The messages of the webhooks: written in one transaction with the mark in webhooks, sent later. Those that have ended are kept for a week, those that were given up for 90 days.';
COMMENT ON COLUMN musette.webhook_messages.number IS 'Order of the messages: one waits for those before it of the same webhook and account';
COMMENT ON COLUMN musette.webhook_messages.message_id IS 'What the receiver gets as webhook-id, the same at each attempt';
COMMENT ON COLUMN musette.webhook_messages.webhook IS 'Name of the webhook, see webhooks; it may be gone from the file since';
COMMENT ON COLUMN musette.webhook_messages.account_id IS 'Account, see accounts; NULL for what concerns the whole database';
COMMENT ON COLUMN musette.webhook_messages.event IS 'What happened, as the receiver gets it in type: activity.new, breakthrough, history.mirrored, history.recalculated, upload.refused, login.lost, mirror.stale, mirror.recovered, backup.failed, backup.recovered';
COMMENT ON COLUMN musette.webhook_messages.occurred_at IS 'When it happened';
COMMENT ON COLUMN musette.webhook_messages.data IS 'The values and the text of the message, in the units of the columns that they come from';
COMMENT ON COLUMN musette.webhook_messages.state IS 'open: not delivered yet; delivered; given_up: not delivered within three days, or the receiver answered 410 Gone; dropped: the webhook is gone from the file';
COMMENT ON COLUMN musette.webhook_messages.attempts IS 'Number of attempts to send it';
COMMENT ON COLUMN musette.webhook_messages.next_try_at IS 'Not sent before this time; during an attempt the time from which another process may send it';
COMMENT ON COLUMN musette.webhook_messages.last_error IS 'Why the last attempt failed; NULL before the first and after a good one';
COMMENT ON COLUMN musette.webhook_messages.created_at IS 'When the message was made';
COMMENT ON COLUMN musette.webhook_messages.ended_at IS 'When it was delivered, given up or dropped; NULL while it is open';

CREATE TABLE musette.webhook_waiting (
  account_id integer NOT NULL,
  path text NOT NULL,
  CONSTRAINT webhook_waiting_account_id_path_pk PRIMARY KEY (account_id, path),
  CONSTRAINT webhook_waiting_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE musette.webhook_waiting IS 'New activities that become a message when their samples and scores are here.';
COMMENT ON COLUMN musette.webhook_waiting.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.webhook_waiting.path IS 'The service''s identifier of the activity';

CREATE TABLE musette.webhook_digests (
  account_id integer NOT NULL,
  event text NOT NULL,
  count integer NOT NULL,
  began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT webhook_digests_account_id_event_pk PRIMARY KEY (account_id, event),
  CONSTRAINT webhook_digests_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts ON DELETE CASCADE
);
COMMENT ON TABLE musette.webhook_digests IS 'What is gathered into one message, which is made when nothing more has come for a while.';
COMMENT ON COLUMN musette.webhook_digests.account_id IS 'Account, see accounts';
COMMENT ON COLUMN musette.webhook_digests.event IS 'Event of the message, see webhook_messages';
COMMENT ON COLUMN musette.webhook_digests.count IS 'Number of activities, changes or files so far';
COMMENT ON COLUMN musette.webhook_digests.began_at IS 'When the first came';
COMMENT ON COLUMN musette.webhook_digests.last_at IS 'When the last came';

CREATE TABLE musette.webhook_conditions (
  subject text PRIMARY KEY,
  began_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE musette.webhook_conditions IS 'What is wrong at this time and became a message, so that there is one when it begins and one when it is over.';
COMMENT ON COLUMN musette.webhook_conditions.subject IS 'What is wrong: mirror with the number of an account, or backup';
COMMENT ON COLUMN musette.webhook_conditions.began_at IS 'When the message was made';

-- Places are counted here and not taken from the table: its rows keep no order.
CREATE VIEW training.sample_extra_values AS
SELECT a.account_id, a.activity_id, x.field, s.t, s.ordinal, v.value, x.others -> v.place::text AS other
FROM training.activities a
JOIN training.sample_extras x ON x.activity_id = a.activity_id
CROSS JOIN LATERAL unnest(x."values") WITH ORDINALITY AS v (value, place)
JOIN LATERAL (
  SELECT t, ordinal, row_number() OVER (ORDER BY t NULLS FIRST, ordinal) AS place
  FROM training.samples WHERE activity_id = a.activity_id
) s ON s.place = v.place
WHERE a.absent_since IS NULL;
COMMENT ON VIEW training.sample_extra_values IS 'The fields of sample_extras with the time of their samples, one row for each field of each sample. Select by activity_id; to join with samples, compare activity_id, t and ordinal (IS NOT DISTINCT FROM).';
COMMENT ON COLUMN training.sample_extra_values.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.sample_extra_values.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.sample_extra_values.field IS 'Name of the field as the service sends it';
COMMENT ON COLUMN training.sample_extra_values.t IS 'Time of the sample';
COMMENT ON COLUMN training.sample_extra_values.ordinal IS 'Place among the samples that share this time, see samples';
COMMENT ON COLUMN training.sample_extra_values.value IS 'Number of the sample; NULL where it has none; unit not told by the service';
COMMENT ON COLUMN training.sample_extra_values.other IS 'Value that is no number; NULL where the sample has a number or nothing';

-- The columns are double precision, for which Postgres has no round to a number of digits.
CREATE FUNCTION training.round(value double precision, digits integer) RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT pg_catalog.round(value::numeric, digits) $$;
COMMENT ON FUNCTION training.round(double precision, integer) IS 'Rounds a number of the tables and views to a number of digits behind the point: training.round(xss, 1). With training in the search_path, as in the logins of musette reader and in musette sql, round(xss, 1) is enough; numeric values go on being rounded by Postgres''s own function.';

-- Each view below starts at an account and joins the rows of that account by LATERAL, so that a condition on account_id, or a join
-- with one account, reads the rows of that account only. Without LATERAL, Postgres passes no such condition into
-- WITH ... AS MATERIALIZED, DISTINCT ON or a window.

CREATE VIEW training.today AS
SELECT a.account_id, clock.utc_offset, (now() AT TIME ZONE 'UTC' + clock.utc_offset)::date AS day
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT coalesce((
    SELECT v.started_at_local - v.started_at AT TIME ZONE 'UTC' FROM training.activities v
    WHERE v.account_id = a.account_id AND v.absent_since IS NULL AND v.started_at IS NOT NULL
    ORDER BY v.started_at DESC LIMIT 1
  ), interval '0') AS utc_offset
  OFFSET 0
) clock;
COMMENT ON VIEW training.today IS 'Derived: which day it is for each account, by the UTC offset of its newest activity (UTC before the first). The service tells no time zone of an account.';
COMMENT ON COLUMN training.today.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.today.utc_offset IS 'Derived: wall clock minus UTC at the newest activity';
COMMENT ON COLUMN training.today.day IS 'Derived: the present day there';

-- Days are counted as whole numbers: steps of one day between moments would depend on the time zone of the session. Grouped
-- and not joined: a join takes seconds for as long as Postgres has no statistics of a new mirror.
CREATE VIEW training.daily_load AS
SELECT t.account_id, load.*
FROM training.today t
CROSS JOIN LATERAL (
  WITH ride AS NOT MATERIALIZED (
    SELECT activity_id, started_at_local::date AS day, xlss, xhss, xpss, xss
    FROM training.activities
    WHERE activities.account_id = t.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  ), entry AS (
    SELECT * FROM ride
    UNION ALL
    SELECT NULL, first + generate_series(0, greatest(last, t.day) - first), NULL, NULL, NULL, NULL
    FROM (SELECT min(day) AS first, max(day) AS last FROM ride) span WHERE first IS NOT NULL
  )
  SELECT day, count(activity_id)::int AS activities,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xlss) END AS low_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xhss) END AS high_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xpss) END AS peak_xss,
    CASE WHEN count(activity_id) = 0 THEN 0 ELSE sum(xss) END AS xss,
    (count(activity_id) - count(xss))::int AS without_xss
  FROM entry GROUP BY day
) load;
COMMENT ON VIEW training.daily_load IS 'The training load of every day from the first activity to today, days without activities as 0. Sums of what the service said; a day whose activities all lack a number has NULL.';
COMMENT ON COLUMN training.daily_load.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.daily_load.day IS 'Day on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.daily_load.activities IS 'Number of activities that started on that day';
COMMENT ON COLUMN training.daily_load.low_xss IS 'Training load score, low part (xlss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.high_xss IS 'Training load score, high part (xhss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.peak_xss IS 'Training load score, peak part (xpss), summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.xss IS 'Training load score, total, summed; unit not told by the service';
COMMENT ON COLUMN training.daily_load.without_xss IS 'Number of activities of that day for which the service told no xss; they are missing in the sums';

CREATE VIEW training.weekly_summary AS
SELECT a.account_id, week.*
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', started_at_local)::date AS week, activity_type, count(*)::int AS activities,
    sum(elapsed_s) AS elapsed_s, sum(distance) AS distance, sum(total_calories) AS total_calories,
    sum(total_elevation_gain) AS total_elevation_gain,
    sum(xlss) AS low_xss, sum(xhss) AS high_xss, sum(xpss) AS peak_xss, sum(xss) AS xss
  FROM training.activities v
  WHERE v.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  GROUP BY 1, 2
) week;
COMMENT ON VIEW training.weekly_summary IS 'Sums of each week and type of activity; weeks without activities have no row. A sum is NULL when no activity of it has the number.';
COMMENT ON COLUMN training.weekly_summary.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.weekly_summary.week IS 'Monday of the week, on the wall clock of each activity''s own time zone';
COMMENT ON COLUMN training.weekly_summary.activity_type IS 'Type in the words of the service, such as Cycling';
COMMENT ON COLUMN training.weekly_summary.activities IS 'Number of activities';
COMMENT ON COLUMN training.weekly_summary.elapsed_s IS 'Derived: seconds from the first sample to the last of each activity, summed; activities without samples are missing in it';
COMMENT ON COLUMN training.weekly_summary.distance IS 'Distance as sent, km, summed';
COMMENT ON COLUMN training.weekly_summary.total_calories IS 'Energy, summed; unit not told by the service (read as kcal)';
COMMENT ON COLUMN training.weekly_summary.total_elevation_gain IS 'Climbed height, summed; unit not told by the service (read as m)';
COMMENT ON COLUMN training.weekly_summary.low_xss IS 'Training load score, low part (xlss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.high_xss IS 'Training load score, high part (xhss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.peak_xss IS 'Training load score, peak part (xpss), summed; unit not told by the service';
COMMENT ON COLUMN training.weekly_summary.xss IS 'Training load score, total, summed; unit not told by the service';

CREATE VIEW training.fitness_history AS
SELECT account_id, started_at AS at, started_at_local::date AS day, 'activity' AS source, activity_id,
  sig_ftp AS ftp, sig_atc / 1000 AS hie_kj, sig_pp AS pp, prev_sig_ltp AS ltp
FROM training.activities
WHERE absent_since IS NULL AND started_at IS NOT NULL AND num_nonnulls(sig_ftp, sig_atc, sig_pp, prev_sig_ltp) > 0
UNION ALL
SELECT i.account_id, i.observed_at, (i.observed_at AT TIME ZONE 'UTC' + t.utc_offset)::date, 'training_info', NULL,
  i.ftp, i.hie, i.pp, i.ltp
FROM training.training_info i JOIN training.today t USING (account_id)
WHERE num_nonnulls(i.ftp, i.hie, i.pp, i.ltp) > 0;
COMMENT ON VIEW training.fitness_history IS 'The signature of the rider over time: after each activity, as far back as activities go, and each time the training information of the service changed since it is polled.';
COMMENT ON COLUMN training.fitness_history.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fitness_history.at IS 'Start of the activity, or when the training information was first seen so';
COMMENT ON COLUMN training.fitness_history.day IS 'Day of the activity in its own time zone; of training information derived, see today';
COMMENT ON COLUMN training.fitness_history.source IS 'activity or training_info';
COMMENT ON COLUMN training.fitness_history.activity_id IS 'Activity, see activities; NULL for training information';
COMMENT ON COLUMN training.fitness_history.ftp IS 'Threshold power, W';
COMMENT ON COLUMN training.fitness_history.hie_kj IS 'High intensity energy; unit not told by the service, read as kJ. For activities derived: sig_atc / 1000, a guess that atc is the same in J';
COMMENT ON COLUMN training.fitness_history.pp IS 'Peak power, W';
COMMENT ON COLUMN training.fitness_history.ltp IS 'Lower threshold power, W; for activities the one before the activity (prev_sig_ltp), the only one the service tells';

CREATE VIEW training.form_history AS
SELECT account_id, started_at AS at, started_at_local::date AS day, activity_id,
  tl_ftp, tl_hie, tl_pp, tl_ftp + tl_hie + tl_pp AS tl_total,
  rl_ftp, rl_hie, rl_pp, rl_ftp + rl_hie + rl_pp AS rl_total, form, training_status, freshness
FROM training.activities
WHERE absent_since IS NULL AND started_at IS NOT NULL
  AND num_nonnulls(tl_ftp, tl_hie, tl_pp, rl_ftp, rl_hie, rl_pp, form, training_status, freshness) > 0;
COMMENT ON VIEW training.form_history IS 'Training load, recovery load and form as the service told them with each activity.';
COMMENT ON COLUMN training.form_history.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_history.at IS 'Start of the activity';
COMMENT ON COLUMN training.form_history.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.form_history.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.form_history.tl_ftp IS 'Training load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_hie IS 'Training load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_pp IS 'Training load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_history.tl_total IS 'Derived: tl_ftp + tl_hie + tl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_history.rl_ftp IS 'Recovery load of threshold power; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_hie IS 'Recovery load of high intensity energy; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_pp IS 'Recovery load of peak power; unit not told by the service';
COMMENT ON COLUMN training.form_history.rl_total IS 'Derived: rl_ftp + rl_hie + rl_pp; unit not told by the service; NULL when one is missing';
COMMENT ON COLUMN training.form_history.form IS 'Form; unit not told by the service';
COMMENT ON COLUMN training.form_history.training_status IS 'Training status as a number; unit not told by the service';
COMMENT ON COLUMN training.form_history.freshness IS 'Freshness, in the words of the service';

-- The seasons of an account and the best of each season are single reads of the index power_curves_best, which holds equal watts in
-- the order of their starts; all time is the best of the seasons. Seasons go through unnest() because Postgres estimates that at 10
-- rows: with its other estimates it would spend 50 ms on compiling the plan (jit).
CREATE VIEW training.power_bests AS
SELECT t.account_id, best.span, best.season, best.duration_s, best.watts, best.activity_id, best.day, best.source
FROM training.today t
CROSS JOIN LATERAL (
  WITH RECURSIVE known (season) AS (
    SELECT min(c.season) FROM training.power_curves c WHERE c.account_id = t.account_id
    UNION ALL
    SELECT (SELECT min(c.season) FROM training.power_curves c WHERE c.account_id = t.account_id AND c.season > k.season)
    FROM known k WHERE k.season IS NOT NULL
  ), duration AS (
    SELECT unnest('{1,2,3,4,5,6,7,8,9,10,12,15,18,20,25,30,35,40,45,50,60,75,90,105,120,150,180,210,240,270,300,360,420,480,540,600,
      720,840,900,1080,1200,1500,1800,2100,2400,2700,3000,3600,4500,5400,6300,7200,9000,10800,12600,14400,18000,21600,25200,28800,
      36000,43200}'::int[]) AS duration_s
  ), season_best AS MATERIALIZED (
    SELECT s.season, d.duration_s, best.*
    FROM (SELECT unnest(ARRAY(SELECT season FROM known WHERE season IS NOT NULL)) AS season) s
    CROSS JOIN duration d
    CROSS JOIN LATERAL (
      SELECT c.watts, c.activity_id, v.started_at_local::date AS day, c.source
      FROM training.power_curves c JOIN training.activities v USING (activity_id)
      WHERE c.account_id = t.account_id AND c.season = s.season AND c.duration_s = d.duration_s AND v.absent_since IS NULL
      ORDER BY c.watts DESC, c.started_at_local, c.activity_id LIMIT 1
    ) best
  ), all_time AS (
    SELECT DISTINCT ON (duration_s) * FROM season_best ORDER BY duration_s, watts DESC, season
  ), recent AS (
    SELECT DISTINCT ON (c.duration_s)
      c.duration_s, c.watts, v.activity_id, v.started_at_local::date AS day, c.source
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT duration_s, watts, source FROM training.power_curves WHERE power_curves.activity_id = v.activity_id OFFSET 0
    ) c
    JOIN duration USING (duration_s)
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND v.started_at > now() - interval '92 days'
      AND v.started_at_local::date BETWEEN t.day - 89 AND t.day
    ORDER BY c.duration_s, c.watts DESC, v.started_at_local, v.activity_id
  )
  SELECT 'all time' AS span, NULL::int AS season, duration_s, watts, activity_id, day, source FROM all_time
  UNION ALL
  SELECT 'season', season, duration_s, watts, activity_id, day, source FROM season_best
  UNION ALL
  SELECT 'last 90 days', NULL, duration_s, watts, activity_id, day, source FROM recent
) best;
COMMENT ON VIEW training.power_bests IS 'Derived: the best mean power for about 60 durations, over all time, in each season and in the last 90 days, and which activity holds it (the earliest of equals). From power_curves.';
COMMENT ON COLUMN training.power_bests.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.power_bests.span IS 'all time, season or last 90 days (today and the 89 days before it, see today)';
COMMENT ON COLUMN training.power_bests.season IS 'Calendar year of the season; NULL for the other spans';
COMMENT ON COLUMN training.power_bests.duration_s IS 'Length of the window, s';
COMMENT ON COLUMN training.power_bests.watts IS 'Derived: best mean power over that length, W; recording gaps count as zero watts, see power_curves';
COMMENT ON COLUMN training.power_bests.activity_id IS 'Activity that holds it, see activities';
COMMENT ON COLUMN training.power_bests.day IS 'Day of that activity in its own time zone';
COMMENT ON COLUMN training.power_bests.source IS 'Column of samples that it was computed from, p_raw or power, see power_curves';

CREATE VIEW training.records AS
SELECT account_id, activity_id, started_at_local::date AS day, name, medal, breakthrough,
  prev_sig_ftp AS ftp_before, sig_ftp AS ftp_after, sig_ftp - prev_sig_ftp AS ftp_change,
  prev_sig_pp AS pp_before, sig_pp AS pp_after, sig_pp - prev_sig_pp AS pp_change,
  prev_sig_atc AS atc_before, sig_atc AS atc_after, sig_atc - prev_sig_atc AS atc_change
FROM training.activities
WHERE absent_since IS NULL AND (medal > 0 OR breakthrough > 0);
COMMENT ON VIEW training.records IS 'Activities for which the service gave a medal or a breakthrough, and what they did to the signature.';
COMMENT ON COLUMN training.records.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.records.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.records.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.records.name IS 'Name of the activity';
COMMENT ON COLUMN training.records.medal IS 'Medal, a whole number of the service; 0 is none';
COMMENT ON COLUMN training.records.breakthrough IS 'Breakthrough, a whole number of the service; 0, -1 and NULL are none';
COMMENT ON COLUMN training.records.ftp_before IS 'Threshold power before the activity, W';
COMMENT ON COLUMN training.records.ftp_after IS 'Threshold power after the activity, W';
COMMENT ON COLUMN training.records.ftp_change IS 'Derived: ftp_after - ftp_before, W';
COMMENT ON COLUMN training.records.pp_before IS 'Peak power before the activity, W';
COMMENT ON COLUMN training.records.pp_after IS 'Peak power after the activity, W';
COMMENT ON COLUMN training.records.pp_change IS 'Derived: pp_after - pp_before, W';
COMMENT ON COLUMN training.records.atc_before IS 'Signature number atc before the activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.records.atc_after IS 'Signature number atc after the activity; unit not told by the service, probably J';
COMMENT ON COLUMN training.records.atc_change IS 'Derived: atc_after - atc_before; unit not told by the service, probably J';

-- The highest heart rates of an account's months come from an index alone. By months, because the highest of a window that moves
-- from activity to activity is ten times as slow.
CREATE VIEW training.ride_intensity AS
SELECT a.account_id, i.activity_id, i.day, i.ftp,
  i.power_z1_s, i.power_z2_s, i.power_z3_s, i.power_z4_s, i.power_z5_s, i.power_z6_s, i.power_z7_s, h.hr_max,
  i.hr_at_least_s[1] - z.s60 AS hr_z1_s, z.s60 - z.s70 AS hr_z2_s, z.s70 - z.s80 AS hr_z3_s, z.s80 - z.s90 AS hr_z4_s,
  z.s90 AS hr_z5_s, i.near_mpa_s, i.above_ftp_s, i.hr_peak
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
COMMENT ON VIEW training.ride_intensity IS 'Derived: how many seconds of each activity with samples were how hard. Power zones are shares of that day''s threshold power, heart rate zones of a derived highest heart rate. Each second with a sample counts once, recording gaps do not count; power is p_raw where the activity has it, else power.';
COMMENT ON COLUMN training.ride_intensity.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_intensity.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_intensity.day IS 'Day of the activity in its own time zone; NULL when its start cannot be read';
COMMENT ON COLUMN training.ride_intensity.ftp IS 'Threshold power that the zones were counted with, W: sig_ftp of the activity when its samples were written';
COMMENT ON COLUMN training.ride_intensity.power_z1_s IS 'Derived: seconds below 55 % of ftp, coasting included; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z2_s IS 'Derived: seconds from 55 % to below 75 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z3_s IS 'Derived: seconds from 75 % to below 90 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z4_s IS 'Derived: seconds from 90 % to below 105 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z5_s IS 'Derived: seconds from 105 % to below 120 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z6_s IS 'Derived: seconds from 120 % to 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.power_z7_s IS 'Derived: seconds above 150 % of ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.hr_max IS 'Derived, for the service tells no maximum heart rate: the highest heart rate, 1/min, that any activity of the account in that month and the twelve before it reached for 10 s; NULL when there is none';
COMMENT ON COLUMN training.ride_intensity.hr_z1_s IS 'Derived: seconds below 60 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z2_s IS 'Derived: seconds from 60 % to below 70 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z3_s IS 'Derived: seconds from 70 % to below 80 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z4_s IS 'Derived: seconds from 80 % to below 90 % of hr_max; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.hr_z5_s IS 'Derived: seconds at 90 % of hr_max or more; NULL without heart rate';
COMMENT ON COLUMN training.ride_intensity.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa); NULL when no second has both power and mpa';
COMMENT ON COLUMN training.ride_intensity.above_ftp_s IS 'Derived: seconds above ftp; NULL without power or ftp';
COMMENT ON COLUMN training.ride_intensity.hr_peak IS 'Derived: the highest heart rate that at least 10 s of the activity reached, 1/min';

-- OFFSET 0: Postgres then sorts the seconds by week, and not the arrays that they are counted from.
CREATE VIEW training.zones_by_week AS
SELECT a.account_id, zones.*
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT date_trunc('week', day::timestamp)::date AS week, count(*)::int AS activities,
    sum(power_z1_s)::int AS power_z1_s, sum(power_z2_s)::int AS power_z2_s, sum(power_z3_s)::int AS power_z3_s,
    sum(power_z4_s)::int AS power_z4_s, sum(power_z5_s)::int AS power_z5_s, sum(power_z6_s)::int AS power_z6_s,
    sum(power_z7_s)::int AS power_z7_s, sum(hr_z1_s)::int AS hr_z1_s, sum(hr_z2_s)::int AS hr_z2_s,
    sum(hr_z3_s)::int AS hr_z3_s, sum(hr_z4_s)::int AS hr_z4_s, sum(hr_z5_s)::int AS hr_z5_s,
    sum(near_mpa_s)::int AS near_mpa_s, sum(above_ftp_s)::int AS above_ftp_s
  FROM (
    SELECT * FROM training.ride_intensity i WHERE i.account_id = a.account_id AND day IS NOT NULL OFFSET 0
  ) i
  GROUP BY 1
) zones;
COMMENT ON VIEW training.zones_by_week IS 'Derived: ride_intensity summed over each week; each activity counts with the threshold power and the highest heart rate of its own time. A sum is NULL when no activity of the week has the number.';
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
COMMENT ON COLUMN training.zones_by_week.near_mpa_s IS 'Derived: seconds at 90 % or more of the maximal power available (mpa)';
COMMENT ON COLUMN training.zones_by_week.above_ftp_s IS 'Derived: seconds above ftp';

CREATE VIEW training.upload_journey AS
SELECT u.account_id, u.content_id, u.file_name, u.state, u.reason, u.seen_at, u.sent_at, u.accepted_at, u.mirrored_at,
  u.mirrored_at - u.seen_at AS took, a.activity_id, a.name AS activity_name, a.started_at_local::date AS day, a.xss,
  a.prev_sig_ftp AS ftp_before, a.sig_ftp AS ftp_after, a.sig_ftp - a.prev_sig_ftp AS ftp_change
FROM training.uploads u
LEFT JOIN training.activities a ON a.activity_id = u.activity_id AND a.absent_since IS NULL
UNION ALL
SELECT c.account_id, c.content_id, c.file_name, CASE u.state WHEN 'refused' THEN 'refused' ELSE 'duplicate' END,
  CASE u.state WHEN 'refused' THEN u.reason ELSE 'the same bytes as "' || u.file_name || '"' END, c.seen_at, NULL, NULL, NULL,
  NULL, a.activity_id, a.name, a.started_at_local::date, a.xss,
  a.prev_sig_ftp, a.sig_ftp, a.sig_ftp - a.prev_sig_ftp
FROM training.upload_copies c
JOIN training.uploads u ON u.account_id = c.account_id AND u.content_id = c.content_id
LEFT JOIN training.activities a ON a.activity_id = u.activity_id AND a.absent_since IS NULL;
COMMENT ON VIEW training.upload_journey IS 'The way of each file, from the folder to its scores: one row a file name and FIT content; a second name of the same bytes is a duplicate. The columns of the activity are NULL until it is here, and when the service does not list it any more.';
COMMENT ON COLUMN training.upload_journey.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.upload_journey.content_id IS 'SHA-256 of the FIT bytes, hex';
COMMENT ON COLUMN training.upload_journey.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.upload_journey.state IS 'How far it is, see uploads';
COMMENT ON COLUMN training.upload_journey.reason IS 'Why it was refused or is not settled';
COMMENT ON COLUMN training.upload_journey.seen_at IS 'When the content was first seen, or seen anew after a refusal or by --force; of a second name: when it was last seen';
COMMENT ON COLUMN training.upload_journey.sent_at IS 'When it was last sent';
COMMENT ON COLUMN training.upload_journey.accepted_at IS 'When the service took it';
COMMENT ON COLUMN training.upload_journey.mirrored_at IS 'When its activity was here with samples';
COMMENT ON COLUMN training.upload_journey.took IS 'Derived: mirrored_at - seen_at';
COMMENT ON COLUMN training.upload_journey.activity_id IS 'Activity made from it, see activities';
COMMENT ON COLUMN training.upload_journey.activity_name IS 'Name of the activity';
COMMENT ON COLUMN training.upload_journey.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.upload_journey.xss IS 'Training load score of the activity, total; unit not told by the service';
COMMENT ON COLUMN training.upload_journey.ftp_before IS 'Threshold power before the activity, W';
COMMENT ON COLUMN training.upload_journey.ftp_after IS 'Threshold power after the activity, W';
COMMENT ON COLUMN training.upload_journey.ftp_change IS 'Derived: ftp_after - ftp_before, W';

CREATE VIEW training.ride_files AS
SELECT a.account_id, a.activity_id, f.content_id, f.file_name, f.manufacturer, f.product, f.serial_number, f.created_at, f.started_at,
  f.ended_at, f.size_bytes, f.records, f.problem, o.kept IS NOT NULL AS kept
FROM training.activities a
CROSS JOIN LATERAL (
  SELECT file.*, u.file_name FROM training.uploads u
  JOIN training.fit_files file ON file.account_id = u.account_id AND file.content_id = u.content_id
  WHERE u.activity_id = a.activity_id AND u.account_id = a.account_id
  ORDER BY u.state = 'duplicate', file.problem IS NOT NULL, u.seen_at, u.content_id LIMIT 1
) f
LEFT JOIN LATERAL (
  SELECT true AS kept FROM training.fit_originals
  WHERE fit_originals.account_id = f.account_id AND fit_originals.content_id = f.content_id LIMIT 1
) o ON true
WHERE a.absent_since IS NULL;
COMMENT ON VIEW training.ride_files IS 'The FIT file of each activity that has one here: of several the one that was uploaded, and not one that the service called a duplicate of it. Join fit_laps, fit_sessions, fit_devices and fit_fields by account_id and content_id.';
COMMENT ON COLUMN training.ride_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_files.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_files.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_files.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.ride_files.manufacturer IS 'Maker of the device that wrote the file, see fit_files';
COMMENT ON COLUMN training.ride_files.product IS 'Product, see fit_files';
COMMENT ON COLUMN training.ride_files.serial_number IS 'Serial number of the device';
COMMENT ON COLUMN training.ride_files.created_at IS 'When the device began the file, by its own clock';
COMMENT ON COLUMN training.ride_files.started_at IS 'Start of the first session, else the first record';
COMMENT ON COLUMN training.ride_files.ended_at IS 'Last record';
COMMENT ON COLUMN training.ride_files.size_bytes IS 'Size of the FIT bytes';
COMMENT ON COLUMN training.ride_files.records IS 'Number of records';
COMMENT ON COLUMN training.ride_files.problem IS 'Why not all of it could be read; NULL when all was';
COMMENT ON COLUMN training.ride_files.kept IS 'Whether its bytes are here: musette export PATH --format fit writes them';

CREATE VIEW training.ride_laps AS
SELECT f.account_id, f.activity_id, f.content_id, l.position AS lap, l.started_at, l.ended_at, l.sport, l.sub_sport,
  l.elapsed_s, l.timer_s, l.moving_s, l.distance_m, l.work_j, l.calories_kcal, l.ascent_m, l.descent_m, l.avg_power,
  l.max_power, l.weighted_power, l.right_power_pct, l.avg_hr, l.max_hr, l.min_hr, l.avg_cadence, l.max_cadence,
  l.avg_speed_mps, l.max_speed_mps, l.avg_temperature, l.max_temperature, l.start_lat, l.start_lng, l.end_lat,
  l.end_lng, l.trigger, l.intensity, l.fields
FROM training.ride_files f
CROSS JOIN LATERAL (
  SELECT * FROM training.fit_laps WHERE fit_laps.account_id = f.account_id AND fit_laps.content_id = f.content_id OFFSET 0
) l;
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

CREATE VIEW training.fit_field_values AS
SELECT f.account_id, f.activity_id, f.content_id, x.name AS field, x.units, f.started_at + v.offset_s * interval '1 second' AS t, v.value
FROM training.ride_files f
JOIN training.fit_fields x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL unnest(x.offsets_s, x."values") AS v (offset_s, value);
COMMENT ON VIEW training.fit_field_values IS 'The values of fit_fields with their times, one row for each value. Select by activity_id.';
COMMENT ON COLUMN training.fit_field_values.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_field_values.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.fit_field_values.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_field_values.field IS 'Name of the field';
COMMENT ON COLUMN training.fit_field_values.units IS 'Unit, in the words of the app';
COMMENT ON COLUMN training.fit_field_values.t IS 'Time of the record';
COMMENT ON COLUMN training.fit_field_values.value IS 'Value as the app wrote it, in units';

CREATE VIEW training.mirror_health AS
SELECT a.account_id, a.name AS account, i.item, i.month, i.count, i.at, i.detail
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT 'needs login' AS item, NULL::date AS month, a.needs_login::int::bigint AS count, NULL::timestamptz AS at,
    a.last_error AS detail
  UNION ALL
  SELECT 'last good poll', NULL, NULL, max(good.finished_at), NULL
  FROM (VALUES ('poll'), ('backfill')) AS way(kind)
  CROSS JOIN LATERAL (
    SELECT r.finished_at FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = way.kind AND r.outcome IN ('done', 'partial')
    ORDER BY r.started_at DESC LIMIT 1
  ) good
  UNION ALL
  SELECT 'last reconcile', NULL, good.listed, good.finished_at, newest.error
  FROM (SELECT) one
  LEFT JOIN LATERAL (
    SELECT r.finished_at, r.listed FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = 'reconcile' AND r.outcome IN ('done', 'partial')
    ORDER BY r.started_at DESC LIMIT 1
  ) good ON true
  LEFT JOIN LATERAL (
    SELECT r.error FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = 'activities' AND r.kind = 'reconcile' AND r.outcome <> 'running'
    ORDER BY r.started_at DESC LIMIT 1
  ) newest ON true
  UNION ALL
  SELECT state.item, NULL, coalesce(v.count, 0), CASE WHEN state.waits THEN v.since END, CASE WHEN state.waits THEN v.error END
  FROM (VALUES ('activities mirrored', 'mirrored', false), ('activities wanted', 'wanted', true),
    ('activities awaiting samples', 'awaiting_samples', true), ('activities failed', 'failed', true)
  ) AS state(item, detail_state, waits)
  LEFT JOIN (
    SELECT detail_state, count(*) AS count, min(wanted_at) AS since,
      (array_agg(fetch_error ORDER BY wanted_at DESC) FILTER (WHERE fetch_error IS NOT NULL))[1] AS error
    FROM training.activities WHERE activities.account_id = a.account_id AND absent_since IS NULL GROUP BY 1
  ) v USING (detail_state)
  UNION ALL
  SELECT 'uploads on their way', NULL, count(*), min(u.seen_at),
    (array_agg(u.reason ORDER BY u.seen_at DESC) FILTER (WHERE u.reason IS NOT NULL))[1]
  FROM training.uploads u
  WHERE u.account_id = a.account_id AND u.state IN ('seen', 'sending', 'unconfirmed', 'accepted')
  UNION ALL
  (WITH ridden AS MATERIALIZED (
    SELECT DISTINCT date_trunc('month', started_at_local)::date AS month
    FROM training.activities WHERE activities.account_id = a.account_id AND absent_since IS NULL AND started_at_local IS NOT NULL
  )
  SELECT 'month without activities', each.month, 0, NULL, NULL
  FROM (
    SELECT (SELECT min(month) FROM ridden) AS first, (SELECT t.day FROM training.today t WHERE t.account_id = a.account_id) AS last
  ) span
  CROSS JOIN LATERAL (SELECT age(span.last::timestamp, span.first::timestamp) AS age) length
  CROSS JOIN LATERAL (
    SELECT (span.first + n * interval '1 month')::date AS month
    FROM generate_series(0, (date_part('year', length.age) * 12 + date_part('month', length.age))::int) AS n
  ) each
  WHERE each.month NOT IN (SELECT month FROM ridden))
  UNION ALL
  SELECT 'last run of ' || pass.resource || ' ' || pass.kind, NULL, run.failed, run.started_at,
    concat_ws(': ', run.outcome, run.error)
  FROM (
    WITH RECURSIVE known AS (
      (SELECT r.resource, r.kind FROM training.sync_runs r WHERE r.account_id = a.account_id ORDER BY 1, 2 LIMIT 1)
      UNION ALL
      SELECT next.resource, next.kind FROM known k
      CROSS JOIN LATERAL (
        SELECT r.resource, r.kind FROM training.sync_runs r
        WHERE r.account_id = a.account_id AND (r.resource, r.kind) > (k.resource, k.kind) ORDER BY 1, 2 LIMIT 1
      ) next
    )
    SELECT resource, kind FROM known
  ) pass
  CROSS JOIN LATERAL (
    SELECT r.started_at, r.outcome, r.failed, r.error FROM training.sync_runs r
    WHERE r.account_id = a.account_id AND r.resource = pass.resource AND r.kind = pass.kind
    ORDER BY r.started_at DESC LIMIT 1
  ) run
) i;
COMMENT ON VIEW training.mirror_health IS 'How well the mirror is: one row a thing to look at, for each account.';
COMMENT ON COLUMN training.mirror_health.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.mirror_health.account IS 'Name of the account';
COMMENT ON COLUMN training.mirror_health.item IS 'needs login; last good poll; last reconcile; activities mirrored, wanted, awaiting samples, failed; uploads on their way; month without activities, a row each, between the first activity and today; last run of <resource> <kind>, a row each';
COMMENT ON COLUMN training.mirror_health.month IS 'First day of the month, for months without activities';
COMMENT ON COLUMN training.mirror_health.count IS 'How many: activities or uploads; 1 when a login is needed, else 0; entries in the list that was compared; items that failed in the last run';
COMMENT ON COLUMN training.mirror_health.at IS 'End of the last good poll or reconcile, NULL when there was none; start of the last run; since when the oldest activity or upload waits';
COMMENT ON COLUMN training.mirror_health.detail IS 'In words: last failure of the tokens; why the last reconcile changed nothing; newest reason of what failed or waits; outcome of the last run';

-- A pass over thousands of activities takes minutes, with pauses while the service is unreachable: an hour without a change ends
-- it. Five activities are more than a person edits within an hour, and fewer than any history.
CREATE VIEW training.recalculations AS
SELECT t.account_id, (pass.observed_from AT TIME ZONE 'UTC' + t.utc_offset)::date AS day_observed, pass.activities,
  pass.xss_before, pass.xss_after, pass.xss_change, pass.ftp_before, pass.ftp_after, pass.first_ride, pass.last_ride,
  pass.observed_from, pass.observed_to
FROM training.today t
CROSS JOIN LATERAL (
  WITH revision AS (
    SELECT v.activity_id, v.started_at_local::date AS day, r.observed_at,
      (r.changes #>> '{xss,0}')::float8 AS xss_before, (r.changes #>> '{xss,1}')::float8 AS xss_after,
      (r.changes #>> '{sig_ftp,0}')::float8 AS ftp_before, (r.changes #>> '{sig_ftp,1}')::float8 AS ftp_after
    FROM training.activities v
    CROSS JOIN LATERAL (
      SELECT observed_at, changes FROM training.activity_revisions WHERE activity_revisions.activity_id = v.activity_id OFFSET 0
    ) r
    WHERE v.account_id = t.account_id AND v.absent_since IS NULL AND (
      (r.changes #>> '{xss,0}' IS NOT NULL AND r.changes #>> '{xss,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_ftp,0}' IS NOT NULL AND r.changes #>> '{sig_ftp,1}' IS NOT NULL)
      OR (r.changes #>> '{sig_pp,0}' IS NOT NULL AND r.changes #>> '{sig_pp,1}' IS NOT NULL)
      OR (r.changes #>> '{tl_ftp,0}' IS NOT NULL AND r.changes #>> '{tl_ftp,1}' IS NOT NULL))
  ), begun AS (
    SELECT *, observed_at - lag(observed_at) OVER (ORDER BY observed_at) <= interval '1 hour' AS goes_on FROM revision
  ), pass AS (
    SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (ORDER BY observed_at) AS number FROM begun
  ), changed AS (
    SELECT number, activity_id, day, min(observed_at) AS observed_from, max(observed_at) AS observed_to,
      (array_agg(xss_before ORDER BY observed_at) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_before,
      (array_agg(xss_after ORDER BY observed_at DESC) FILTER (WHERE xss_before + xss_after IS NOT NULL))[1] AS xss_after,
      (array_agg(ftp_before ORDER BY observed_at) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_before,
      (array_agg(ftp_after ORDER BY observed_at DESC) FILTER (WHERE ftp_before + ftp_after IS NOT NULL))[1] AS ftp_after
    FROM pass GROUP BY 1, 2, 3
  )
  SELECT count(*)::int AS activities,
    sum(xss_before) AS xss_before, sum(xss_after) AS xss_after, sum(xss_after) - sum(xss_before) AS xss_change,
    avg(ftp_before) AS ftp_before, avg(ftp_after) AS ftp_after,
    min(day) AS first_ride, max(day) AS last_ride, min(observed_from) AS observed_from, max(observed_to) AS observed_to
  FROM changed GROUP BY number HAVING count(*) >= 5
) pass;
COMMENT ON VIEW training.recalculations IS 'Derived: when the service changed the scores of its history. A row is five or more activities whose load, signature or status had a number before and has another, with less than an hour from one change seen to the next.';
COMMENT ON COLUMN training.recalculations.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recalculations.day_observed IS 'Derived: day of observed_from, see today';
COMMENT ON COLUMN training.recalculations.activities IS 'Number of activities that changed';
COMMENT ON COLUMN training.recalculations.xss_before IS 'Derived: sum of the old xss of the activities whose xss changed; unit not told by the service; NULL when none did';
COMMENT ON COLUMN training.recalculations.xss_after IS 'Derived: sum of the new xss of the same activities; unit not told by the service';
COMMENT ON COLUMN training.recalculations.xss_change IS 'Derived: xss_after - xss_before; unit not told by the service';
COMMENT ON COLUMN training.recalculations.ftp_before IS 'Derived: mean of the old sig_ftp of the activities whose sig_ftp changed, W; NULL when none did';
COMMENT ON COLUMN training.recalculations.ftp_after IS 'Derived: mean of the new sig_ftp of the same activities, W';
COMMENT ON COLUMN training.recalculations.first_ride IS 'Day of the first activity that changed, in its own time zone';
COMMENT ON COLUMN training.recalculations.last_ride IS 'Day of the last activity that changed, in its own time zone';
COMMENT ON COLUMN training.recalculations.observed_from IS 'When the first of the changes was seen here';
COMMENT ON COLUMN training.recalculations.observed_to IS 'When the last of the changes was seen here';
