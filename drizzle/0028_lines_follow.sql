ALTER TABLE training.database ADD COLUMN system_identifier bigint, ADD COLUMN timeline integer, ADD COLUMN database_oid bigint;
--> statement-breakpoint
COMMENT ON COLUMN training.database.line IS 'Another one after each restore, and when the database goes on as a copy, from an earlier moment or on another server: two databases that come from one have different lines. When it changes, rows that a reader has read may be gone, see the change restored';
--> statement-breakpoint
COMMENT ON COLUMN training.database.line_began_at IS 'When the line began: when the tables were made, or at the last change restored';
--> statement-breakpoint
COMMENT ON COLUMN training.database.earlier_lines IS 'The lines before this one, oldest first';
--> statement-breakpoint
COMMENT ON COLUMN training.database.system_identifier IS 'The Postgres cluster of this line, as pg_control_system() names it; NULL before the first change, and where the server does not tell';
--> statement-breakpoint
COMMENT ON COLUMN training.database.timeline IS 'The timeline of the cluster, another one after each promotion and each restore to a point in time; NULL before the first change, and where the server does not tell';
--> statement-breakpoint
COMMENT ON COLUMN training.database.database_oid IS 'Number of the database in the cluster, another one of each copy; NULL before the first change';
--> statement-breakpoint
COMMENT ON COLUMN training.changes.change_id IS 'Number of the change; a later commit has a higher number, and numbers may be missing. No number is used twice: each line begins far above all that were given out, see database';
--> statement-breakpoint
COMMENT ON COLUMN training.changes.kind IS 'What happened: activity.new, activity.changed, activity.samples (samples written or replaced, or an answer without any), activity.absent, activity.back; training_info.new, training_info.changed; workout.new, workout.changed, workout.absent, workout.back; upload.accepted, upload.mirrored, upload.duplicate, upload.refused; login.lost, login.restored; restored (a new line of the whole database, see database)';
--> statement-breakpoint
COMMENT ON COLUMN training.changes.detail IS 'Of …new: column names with their values; of …changed: column names with the value before and the value after, {"xss":[old,new]}, in the units of those columns (summary_hash stands for summary); of restored: up_to, the number up to which the feed is as it was before (read the tables anew when you had read further), identity and line of the database, see database, and cause: backup (with backup_made_at), server (another cluster), timeline (a replica was promoted, or a point in time restored), copy (another database of the cluster) or earlier (its files were put back; up_to is 0); of the others what they are about: sample_count, elapsed_s in s, start and box in degrees, absent_since, content_id, file_name and reason';
--> statement-breakpoint
CREATE FUNCTION musette.cluster(OUT system_identifier bigint, OUT timeline integer, OUT database_oid bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  database_oid := (SELECT oid FROM pg_database WHERE datname = current_database());
  -- Some services have these functions and refuse them.
  BEGIN
    system_identifier := (SELECT c.system_identifier FROM pg_control_system() c);
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  BEGIN
    -- At once another one after a promotion, which the control file is not.
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.cluster() IS 'What of Postgres tells where this database is; NULL what the server does not tell.';
--> statement-breakpoint
CREATE FUNCTION musette.lock_feed() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO musette.locks (name) VALUES ('changes') ON CONFLICT DO NOTHING;
  PERFORM FROM musette.locks WHERE name = 'changes' FOR UPDATE;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.lock_feed() IS 'Waits until no other transaction writes changes, and keeps others from it to the end of this one.';
--> statement-breakpoint
CREATE FUNCTION musette.begin_line(cause text, about jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last bigint;
  number bigint;
  begun record;
BEGIN
  PERFORM musette.lock_feed();
  last := (SELECT coalesce(max(change_id), 0) FROM training.changes);
  UPDATE training.database d SET earlier_lines = d.earlier_lines || d.line, line = gen_random_uuid(), line_began_at = clock_timestamp(),
    system_identifier = c.system_identifier, timeline = c.timeline, database_oid = c.database_oid
  FROM musette.cluster() c RETURNING d.identity, d.line INTO begun;
  -- The numbers count microseconds since 1970: more than any database gives out, so that two that go on from one moment never give the same
  -- number. Where the clock is behind they go on a thousand million further, more changes than a database records in its life.
  SELECT setval('training.changes_change_id_seq', greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    greatest(s.last_value, last) + 1000000000 + (random() * 1000000000)::bigint)) INTO number FROM training.changes_change_id_seq s;
  -- In a plain Postgres the columns have no defaults.
  INSERT INTO training.changes (change_id, at, kind, detail, transaction_id) OVERRIDING SYSTEM VALUE
  VALUES (number, clock_timestamp(), 'restored', jsonb_build_object('up_to', CASE cause WHEN 'earlier' THEN 0 ELSE last END,
    'cause', cause, 'identity', begun.identity, 'line', begun.line) || about, pg_current_xact_id());
  NOTIFY musette_changes;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.begin_line(text, jsonb) IS 'Gives the database another line, begins the numbers of the change feed far above every number that was given out, and records the change restored. up_to is the greatest number that was written, because the sequence of a replica stands ahead of it; 0 for an earlier moment, after which numbers may have been given out again.';
--> statement-breakpoint
CREATE FUNCTION musette.moved() RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT CASE WHEN c.system_identifier <> d.system_identifier THEN 'server' WHEN c.timeline <> d.timeline THEN 'timeline'
      WHEN c.database_oid <> d.database_oid THEN 'copy'
      WHEN d.database_oid IS NULL OR d.timeline IS NULL AND c.timeline IS NOT NULL
        OR d.system_identifier IS NULL AND c.system_identifier IS NOT NULL THEN 'unknown' END
    FROM training.database d, musette.cluster() c);
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.moved() IS 'Why the line ends, see the change restored; unknown when the line does not say yet where it is; NULL when it goes on.';
--> statement-breakpoint
CREATE FUNCTION musette.follow_database() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cause text := musette.moved();
BEGIN
  IF cause IS NULL THEN
    RETURN;
  END IF;
  -- Another transaction may have begun the line until here.
  PERFORM musette.lock_feed();
  cause := musette.moved();
  IF cause = 'unknown' THEN
    UPDATE training.database d SET system_identifier = coalesce(c.system_identifier, d.system_identifier),
      timeline = coalesce(c.timeline, d.timeline), database_oid = c.database_oid
    FROM musette.cluster() c;
  ELSIF cause IS NOT NULL THEN
    PERFORM musette.begin_line(cause);
  END IF;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.follow_database() IS 'Begins a new line when the database is a copy, or goes on from an earlier moment or on another server, as far as Postgres tells.';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION musette.lock_changes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM musette.lock_feed();
  PERFORM musette.follow_database();
  RETURN NULL;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.lock_changes() IS 'Lets one transaction at a time write changes, from here to its commit: a number that was given earlier is never committed later. It runs before the statement takes a number, so that the first number of a new line is none of the one before.';
