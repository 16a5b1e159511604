-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE TABLE training.activities (
  activity_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id integer NOT NULL,
  path text NOT NULL,
  name text,
  description text,
  activity_type text,
  started_at timestamp with time zone,
  timezone text,
  started_at_local timestamp without time zone,
  detail_state text DEFAULT 'wanted'::text NOT NULL,
  sample_count integer,
  elapsed_s double precision,
  samples_at timestamp with time zone,
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
  absent_since timestamp with time zone,
  first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  listed_at timestamp with time zone NOT NULL,
  fetched_at timestamp with time zone,
  wanted_at timestamp with time zone NOT NULL,
  list_fields jsonb,
  detail_fields jsonb,
  summary_hash text,
  next_fetch_at timestamp with time zone,
  fetch_attempts integer DEFAULT 0 NOT NULL,
  fetch_error text,
  timezone_source text,
  verified_at timestamp with time zone,
  stray_samples integer,
  recorded_from timestamp with time zone,
  sport text DEFAULT 'other'::text NOT NULL,
  near_breakthrough boolean,
  sig_manual boolean,
  sig_error text,
  CONSTRAINT activities_pkey PRIMARY KEY (activity_id),
  CONSTRAINT activities_account_path UNIQUE (account_id, path),
  CONSTRAINT activities_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT activities_detail_state CHECK (detail_state = ANY (ARRAY['wanted'::text, 'awaiting_samples'::text, 'mirrored'::text, 'failed'::text])),
  CONSTRAINT activities_timezone_source CHECK (timezone_source = ANY (ARRAY['service'::text, 'position'::text, 'file'::text, 'nearest'::text, 'setting'::text, 'unknown'::text]))
);
ALTER TABLE training.activities ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN start_lat SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN start_lng SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN south SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN north SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN west SET STATISTICS 0;
ALTER TABLE training.activities ALTER COLUMN east SET STATISTICS 0;

-- Indexes, last changed by 0036_failed_activities
CREATE INDEX activities_account_started ON training.activities USING btree (account_id, started_at DESC, activity_id DESC);
CREATE INDEX activities_box ON training.activities USING gist (box(point(west, south), point(east, north)));
CREATE INDEX activities_failed ON training.activities USING btree (account_id, started_at DESC) WHERE (detail_state = 'failed'::text);
CREATE INDEX activities_newest ON training.activities USING btree (COALESCE(started_at, '-infinity'::timestamp with time zone) DESC, activity_id DESC) WHERE (absent_since IS NULL);
CREATE INDEX activities_start ON training.activities USING gist (point(start_lng, start_lat));
CREATE INDEX activities_to_fetch ON training.activities USING btree (account_id, started_at DESC) WHERE ((detail_state = 'wanted'::text) OR (next_fetch_at IS NOT NULL));

-- Triggers, last changed by 0033_form_by_day
-- move_derived: functions/move_derived.sql
-- record_change: functions/record_content_change.sql
-- record_new: functions/record_content_change.sql
-- set_signature_notes: functions/set_signature_notes.sql
-- set_sport: functions/set_sport.sql
-- set_updated_at: functions/set_updated_at.sql

-- Comments, last changed by 0033_form_by_day
COMMENT ON TABLE training.activities IS 'One row an activity of the service''s list. The list fills name to started_at_local; the detail fills the load and signature columns.';
COMMENT ON COLUMN training.activities.activity_id IS 'Key of the activity in this database';
COMMENT ON COLUMN training.activities.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.activities.path IS 'The service''s identifier of the activity, unique in an account';
COMMENT ON COLUMN training.activities.name IS 'Name; the last one that the service told, which stays when a later answer has none';
COMMENT ON COLUMN training.activities.description IS 'Description; NULL when the detail says that there is none, or neither list nor detail has ever sent one';
COMMENT ON COLUMN training.activities.activity_type IS 'Type in the words of the service, such as Cycling; the last one that it told, which stays when a later answer has none';
COMMENT ON COLUMN training.activities.started_at IS 'Start; NULL when the date the service sent cannot be read';
COMMENT ON COLUMN training.activities.timezone IS 'Derived: time zone of started_at_local, an IANA name wherever one is known, else an offset (+02:00) or an abbreviation (EDT) as the service or the FIT file told it; timezone_source tells where it is from. What the service sent is in summary and list_fields';
COMMENT ON COLUMN training.activities.started_at_local IS 'Derived: start on the wall clock of timezone, so that its days are the rider''s; started_at is the instant, which no time zone changes';
COMMENT ON COLUMN training.activities.detail_state IS 'wanted: to be fetched; awaiting_samples: fetched, samples not there yet; mirrored: as the service has it; failed: the last answer could not be used, see fetch_error and next_fetch_at';
COMMENT ON COLUMN training.activities.sample_count IS 'Number of rows in samples; NULL while none were ever written';
COMMENT ON COLUMN training.activities.elapsed_s IS 'Derived: seconds from the first sample to the last of the main run, see stray_samples';
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
COMMENT ON COLUMN training.activities.breakthrough IS 'Breakthrough, a whole number of the service; 0 and NULL are none, -1 is a near one, see near_breakthrough';
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
COMMENT ON COLUMN training.activities.timezone_source IS 'Derived: what told timezone; the first that is known counts. service: the service sent a zone, abbreviation or offset other than plain UTC. position: the zone at start_lat, start_lng, or where these are NULL at the first position of the FIT file. file: the offset that the FIT file itself holds. nearest: the zone of the activity nearest in time whose zone one of the former told, within 30 days. setting: accounts.timezone. unknown: nothing, so that the wall clock is UTC. NULL when the start cannot be read, or until it is found after an upgrade';
COMMENT ON COLUMN training.activities.verified_at IS 'When the answer was asked for that was last seen to be this activity whole, with every value of every sample: it was written then, or compared and found equal. NULL while no answer with samples has been';
COMMENT ON COLUMN training.activities.stray_samples IS 'Derived: number of samples that are not of the main run of the recording, because the clock of the device jumped; they stay in samples as sent, and elapsed_s, place, power curve, zones and measures leave them out. Runs begin where more than a day lies between two samples; the main run has the most samples, of equal ones it is the last. None is left out where all samples span 7 days or less and the service''s duration is unknown or more than 1.5 times the main run. NULL without samples, and until an older database is completed';
COMMENT ON COLUMN training.activities.recorded_from IS 'Derived: time of the first sample of the main run, see stray_samples; the view ride_samples has the samples of it';
COMMENT ON COLUMN training.activities.sport IS 'Derived: kind of sport, from activity_type: cycling, running, swimming or other, see sport_of()';
COMMENT ON COLUMN training.activities.near_breakthrough IS 'Whether the activity came near a breakthrough, which the service says with a breakthrough of -1; NULL where it tells no breakthrough';
COMMENT ON COLUMN training.activities.sig_manual IS 'Whether the rider set the signature of the activity at the service, sig.manual of its summary or list entry; NULL where the service does not say';
COMMENT ON COLUMN training.activities.sig_error IS 'What the service says of a signature that it only guessed, sig.error of the summary or list entry, such as "No BT yet. Using first signature"; NULL without such words';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.activities ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.activities TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.activities AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.activities TO musette_one_account, musette_reader;
