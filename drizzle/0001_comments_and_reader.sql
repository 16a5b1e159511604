-- Compressed bodies are stored as they are; trying to compress them again costs time and gains nothing.
ALTER TABLE "training"."raw_documents" ALTER COLUMN "body" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- Samples are replaced a whole activity at a time: the default of a fifth of the table would let millions of dead rows gather.
ALTER TABLE "training"."samples" SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
--> statement-breakpoint
-- The role is made where the user may; a database of one's own without that right works all the same. A role belongs to
-- the whole server, so another database may make it at this very moment.
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
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_reader') THEN
    GRANT USAGE ON SCHEMA training TO musette_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA training TO musette_reader;
    ALTER DEFAULT PRIVILEGES IN SCHEMA training GRANT SELECT ON TABLES TO musette_reader;
  END IF;
END
$$;
--> statement-breakpoint
COMMENT ON SCHEMA "training" IS 'The mirror of the training history: every table here is made to be read with SQL. Rows say what the service said; what is derived is named as derived; what is unknown is NULL.';
--> statement-breakpoint
COMMENT ON SCHEMA "musette" IS 'What readers must not see: sealed tokens and the journal of migrations.';
--> statement-breakpoint
COMMENT ON TABLE training.accounts IS 'One row an account at the service.';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."account_id" IS 'Key of the account in this database';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."name" IS 'Name given at login; `default` unless told otherwise';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."base_url" IS 'Address of the service that holds the account';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."needs_login" IS 'True while there are no tokens that work: run musette login';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."last_error" IS 'Last failure of the tokens, in words; NULL while they work';
--> statement-breakpoint
COMMENT ON COLUMN training.accounts."created_at" IS 'When the account was first known here';
--> statement-breakpoint
COMMENT ON TABLE training.activities IS 'One row an activity of the service''s list. The list fills name to started_at_local; the detail fills the load and signature columns.';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."activity_id" IS 'Key of the activity in this database';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."path" IS 'The service''s identifier of the activity, unique in an account';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."name" IS 'Name';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."description" IS 'Description; NULL when the service sends none';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."activity_type" IS 'Type in the words of the service, such as Cycling';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."started_at" IS 'Start; NULL when the date the service sent cannot be read';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."timezone" IS 'Time zone of the start as the service sent it: zone name, abbreviation or UTC offset';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."started_at_local" IS 'Start on the wall clock of that time zone';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."detail_state" IS 'wanted: to be fetched; awaiting_samples: fetched, samples not there yet; mirrored: as the service has it; failed: the last fetch failed, see fetch_error';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sample_count" IS 'Number of rows in samples; NULL while none were ever written';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."elapsed_s" IS 'Derived: seconds from the first sample to the last';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."max_power" IS 'Highest power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."avg_power" IS 'Mean power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."max_cadence" IS 'Highest cadence, 1/min';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."total_elevation_gain" IS 'Climbed height; unit not told by the service (read as m)';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."total_calories" IS 'Energy; unit not told by the service (read as kcal)';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xss" IS 'Training load score, total';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xlss" IS 'Training load score, low part';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xhss" IS 'Training load score, high part';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xpss" IS 'Training load score, peak part';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xep" IS 'Summary number xep of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."mep" IS 'Summary number mep of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."tws" IS 'Summary number tws of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sp" IS 'Summary number sp of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sfd" IS 'Summary number sfd of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."focus" IS 'Focus, in the words of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."specificity" IS 'Specificity, in the words of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."difficulty" IS 'Difficulty score';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."difficulty_rating" IS 'Difficulty in words';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."distance" IS 'Distance as sent, km';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."duration" IS 'Duration as sent; the service''s document says minutes, its answers read as seconds; elapsed_s is certain';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sig_ftp" IS 'Threshold power after this activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sig_atc" IS 'Signature number atc after this activity; unit not told by the service, probably J';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."sig_pp" IS 'Peak power after this activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."prev_sig_ftp" IS 'Threshold power before this activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."prev_sig_atc" IS 'Signature number atc before this activity; unit not told by the service, probably J';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."prev_sig_pp" IS 'Peak power before this activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."prev_sig_ltp" IS 'Lower threshold power before this activity, W';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."medal" IS 'Medal, a whole number of the service; 0 is none';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."breakthrough" IS 'Breakthrough, a whole number of the service; 0 is none';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."total_grams_carbs" IS 'Carbohydrates burnt, g';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."total_grams_fat" IS 'Fat burnt, g';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."progression_date" IS 'Day of the progression numbers as the service writes it';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."tl_ftp" IS 'Training load of threshold power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."tl_hie" IS 'Training load of high intensity energy; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."tl_pp" IS 'Training load of peak power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."rl_ftp" IS 'Recovery load of threshold power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."rl_hie" IS 'Recovery load of high intensity energy; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."rl_pp" IS 'Recovery load of peak power; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."form" IS 'Form; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."training_status" IS 'Training status as a number; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."freshness" IS 'Freshness, in the words of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."street_view" IS 'Address of a street picture';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."activity_map" IS 'Address of a map picture';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."chart_view" IS 'Address of the chart';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."summary" IS 'The whole summary as the service sent it, unknown fields too';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."absent_since" IS 'When the activity was first found missing in the list of the service; NULL while it is listed. Rows are never deleted';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."first_seen_at" IS 'When the activity was first seen in the list';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."listed_at" IS 'When the list last named the activity';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."fetched_at" IS 'When the answer that this row shows was asked for; NULL before the first';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."wanted_at" IS 'When the activity was last marked as wanted';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."summary_hash" IS 'Hash of the last summary, to tell change from no change';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."next_fetch_at" IS 'Not asked again before this moment; NULL: not by itself';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."fetch_attempts" IS 'Fetches since the last complete one';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."fetch_error" IS 'Why the last fetch failed; NULL when it did not';
--> statement-breakpoint
COMMENT ON TABLE training.samples IS 'One row a second of an activity as the service sent it. An activity has all of its samples or none: they are replaced together. Look up by activity_id (BRIN index).';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."t" IS 'Time of the sample; NULL when it cannot be read';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."power" IS 'Power, W; a trailing mean of about 5 s, see p_raw';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."mpa" IS 'Maximal power available, W';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."cad" IS 'Cadence, 1/min';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."alt" IS 'Altitude; unit not told by the service (read as m)';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."hr" IS 'Heart rate, 1/min';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."spd" IS 'Speed as sent; unit not told by the service, read as m/h and not reliable on runs: derive speed from dist';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."tgt" IS 'Target power of a guided workout; unit not told by the service (read as W)';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."lat" IS 'Latitude, degrees';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."lng" IS 'Longitude, degrees';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."dist" IS 'Distance so far; unit not told by the service (read as m)';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."tws" IS 'Running total of tws, ends at the xss of the activity; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."xds" IS 'Sample number xds of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."p_raw" IS 'Power of this second before smoothing, W';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."lws" IS 'Sample number lws of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."hws" IS 'Sample number hws of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."pws" IS 'Sample number pws of the service; unit not told by the service';
--> statement-breakpoint
COMMENT ON TABLE training.sample_extras IS 'Fields of the samples that have no column, one row a field.';
--> statement-breakpoint
COMMENT ON COLUMN training.sample_extras."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.sample_extras."field" IS 'Name of the field as the service sends it';
--> statement-breakpoint
COMMENT ON COLUMN training.sample_extras."values" IS 'One value a sample, in the order of time; null where the sample has none';
--> statement-breakpoint
COMMENT ON TABLE training.power_curves IS 'Derived: the best mean power of an activity for about 60 durations. Recording gaps count as zero watts.';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."duration_s" IS 'Length of the window, s';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."watts" IS 'Best mean power in any window of that length, W; from p_raw where present, else from power. Recording gaps count as zero watts';
--> statement-breakpoint
COMMENT ON TABLE training.raw_documents IS 'The last answer with samples, as the service sent it, compressed; one row an activity.';
--> statement-breakpoint
COMMENT ON COLUMN training.raw_documents."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.raw_documents."fetched_at" IS 'When the answer was asked for';
--> statement-breakpoint
COMMENT ON COLUMN training.raw_documents."sha256" IS 'SHA-256 of the answer before compression, hex';
--> statement-breakpoint
COMMENT ON COLUMN training.raw_documents."encoding" IS 'Compression of body: gzip or identity';
--> statement-breakpoint
COMMENT ON COLUMN training.raw_documents."body" IS 'The compressed bytes of the answer';
--> statement-breakpoint
COMMENT ON TABLE training.activity_revisions IS 'What changed in an activity after it was first fetched, one row a change seen.';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_revisions."activity_id" IS 'Activity, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_revisions."observed_at" IS 'When the changed answer was asked for';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_revisions."changes" IS 'Column names with the value before and the value after: {"xss":[old,new]}';
--> statement-breakpoint
COMMENT ON TABLE training.training_info IS 'The training information of the service over time: a new row only when something changed.';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."observed_at" IS 'When this state was first seen';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."last_seen_at" IS 'When this state was last seen unchanged';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."status" IS 'Freshness status, in the words of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."weight_kg" IS 'Weight of the rider, kg';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."ftp" IS 'Threshold power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."ltp" IS 'Lower threshold power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."hie" IS 'High intensity energy; unit not told by the service, read as kJ';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."pp" IS 'Peak power, W';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."tl_low" IS 'Training load, low; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."tl_high" IS 'Training load, high; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."tl_peak" IS 'Training load, peak; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."tl_total" IS 'Training load, total; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_low" IS 'Recommended training load score, low';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_high" IS 'Recommended training load score, high';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_peak" IS 'Recommended training load score, peak';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_total" IS 'Recommended training load score, total';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."source" IS 'Where the training information comes from, in the words of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_type" IS 'Workout of the day: None, Forecast or Scheduled';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_name" IS 'Workout of the day: name';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_workout_id" IS 'Workout of the day: identifier';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_description" IS 'Workout of the day: description';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_difficulty" IS 'Workout of the day: difficulty score';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_url" IS 'Workout of the day: address of its file';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."raw" IS 'The whole answer as the service sent it';
--> statement-breakpoint
COMMENT ON TABLE training.workouts IS 'The workout lists: those of an account, and the default list that needs no account.';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."account_id" IS 'Account, see accounts; NULL for the default list';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."path" IS 'The service''s identifier of the workout';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."name" IS 'Name';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."description" IS 'Description';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."last_modified" IS 'When the workout was last changed at the service';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."absent_since" IS 'When the workout was first found missing in its list; NULL while it is listed';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."raw" IS 'The whole entry as the service sent it';
--> statement-breakpoint
COMMENT ON TABLE training.workout_sets IS 'The sets of a workout, resolved to watts and seconds for the signature of the rider.';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."path" IS 'The service''s identifier of the workout';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."position" IS 'Place of the set in the workout, from 0';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."name" IS 'Name of the interval that the set belongs to';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."index" IS 'Position of that interval in the workout designer';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."power" IS 'Target power of the work part, W';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."duration" IS 'Length of the work part, s';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."power_rest" IS 'Power of the rest part, W; NULL for sets without rest';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."duration_rest" IS 'Length of the rest part, s; NULL for sets without rest';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."interval_count" IS 'Number of repetitions';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."resolved_at" IS 'When the service resolved the set';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_sets."signature" IS 'Signature of the rider at that time, as far as it is known here';
--> statement-breakpoint
COMMENT ON TABLE training.workout_files IS 'Files of the workout of the day, the last content for each workout and format.';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."workout_id" IS 'Identifier of the workout';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."format" IS 'erg or zwo';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."content" IS 'The file';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."sha256" IS 'SHA-256 of the file, hex';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."fetched_at" IS 'When the file was asked for';
--> statement-breakpoint
COMMENT ON TABLE training.uploads IS 'The ledger of uploads: one row a FIT content, so that no file is sent twice.';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."content_id" IS 'SHA-256 of the FIT bytes, hex';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."file_name" IS 'Name of the file where the content was first seen';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."size_bytes" IS 'Size of the FIT content, bytes';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."started_at" IS 'Start of the activity by the FIT content';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."state" IS 'seen: known, not sent; sending: being sent; unconfirmed: sent, answer lost; accepted: taken by the service; mirrored: its activity is here with samples; duplicate: the service had it already; refused: see reason';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."activity_path" IS 'The service''s identifier of the activity made from it';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."activity_id" IS 'Activity made from it, see activities';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."reason" IS 'Why it was refused or is not settled';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."attempts" IS 'Times it was sent';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."seen_at" IS 'When the content was first seen';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."sent_at" IS 'When it was last sent';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."accepted_at" IS 'When the service took it';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."mirrored_at" IS 'When its activity was here with samples';
--> statement-breakpoint
COMMENT ON TABLE training.sync_runs IS 'One row a pass over one resource.';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."run_id" IS 'Key of the run';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."account_id" IS 'Account, see accounts; NULL for what belongs to none';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."resource" IS 'What was mirrored, such as activities';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."kind" IS 'Why it ran, such as poll, backfill or reconcile';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."started_at" IS 'Start of the run';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."finished_at" IS 'End of the run; NULL while it runs';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."outcome" IS 'running; done; partial: done, but some items failed; failed; abandoned: the program ended in the middle';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."listed" IS 'Entries in the list of the service';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."changed" IS 'Entries new or marked as changed';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."fetched" IS 'Items fetched';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."absent" IS 'Items found missing at the service';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."failed" IS 'Items that failed';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."error_code" IS 'Stable word for the error';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_runs."error" IS 'The error in words';
--> statement-breakpoint
COMMENT ON TABLE training.sync_cursors IS 'How far each resource has been mirrored.';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."resource" IS 'What is mirrored, such as activities';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."updated_from" IS 'Changes up to this moment, by the clock of the service, are known here';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."advanced_at" IS 'When the cursor was last moved';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."list_cap" IS 'Longest list the service gives at once, when it was found to cut lists; NULL: not known to cut';
--> statement-breakpoint
COMMENT ON COLUMN training.sync_cursors."list_checked_at" IS 'When the list of the service was last compared with its parts';
--> statement-breakpoint
COMMENT ON TABLE training.drift IS 'What the service sends and its document does not say, or sends otherwise.';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."endpoint" IS 'Endpoint whose answer differed';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."field" IS 'Field in the answer';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."kind" IS 'What differed, such as unknown or type';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."example" IS 'One value as it was sent, cut';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."first_seen_at" IS 'When it was first seen';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."last_seen_at" IS 'When it was last seen';
--> statement-breakpoint
COMMENT ON COLUMN training.drift."times" IS 'How often it was seen';
--> statement-breakpoint
COMMENT ON TABLE musette.credentials IS 'Tokens, sealed with AES-256-GCM: one row an account.';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."account_id" IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."client_id" IS 'Client identifier at the service';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."client_secret" IS 'Client secret, sealed';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."access_token" IS 'Access token, sealed';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."refresh_token" IS 'Refresh token, sealed';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."username" IS 'Login name, where the password is kept or was asked for';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."password" IS 'Password, sealed; NULL unless the user asked to keep it';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."key_id" IS 'First 8 hex digits of the SHA-256 of the sealing key';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."obtained_at" IS 'When the tokens were issued';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."expires_at" IS 'When the access token ends';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."failures" IS 'Failed refreshes since the last good one';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."not_before" IS 'No refresh before this moment';
--> statement-breakpoint
COMMENT ON COLUMN musette.credentials."updated_at" IS 'When the row was last written';
--> statement-breakpoint
COMMENT ON TABLE musette.migrations IS 'Journal of the migrations that this database has seen.';
--> statement-breakpoint
COMMENT ON COLUMN musette.migrations."id" IS 'Key';
--> statement-breakpoint
COMMENT ON COLUMN musette.migrations."hash" IS 'SHA-256 of the migration';
--> statement-breakpoint
COMMENT ON COLUMN musette.migrations."created_at" IS 'Moment the migration was generated, ms since 1970';
