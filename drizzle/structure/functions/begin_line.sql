-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0028_lines_follow
CREATE OR REPLACE FUNCTION musette.begin_line(cause text, about jsonb DEFAULT '{}') RETURNS void
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

-- Comments, last changed by 0028_lines_follow
COMMENT ON FUNCTION musette.begin_line(text,jsonb) IS 'Gives the database another line, begins the numbers of the change feed far above every number that was given out, and records the change restored. up_to is the greatest number that was written, because the sequence of a replica stands ahead of it; 0 for an earlier moment, after which numbers may have been given out again.';
