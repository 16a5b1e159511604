CREATE VIEW musette.lock_pass AS SELECT true AS lockable;
COMMENT ON VIEW musette.lock_pass IS 'Locked by the process that mirrors an account in one pass; the name of its connection says which account';
COMMENT ON COLUMN musette.lock_pass.lockable IS 'Always true: the lock is what matters';
-- A 404 left them without a next fetch until the whole list was compared.
UPDATE training.activities SET next_fetch_at = now() WHERE detail_state = 'failed' AND next_fetch_at IS NULL AND absent_since IS NULL;
-- Details wrote a start as 2024-05-01T06:00:00.120Z, lists as 2024-05-01T06:00:00.12+00:00, as Postgres does.
UPDATE training.activity_revisions SET changes = jsonb_set(changes, '{started_at}', (
  SELECT jsonb_agg(to_jsonb(regexp_replace(value, '(\.[0-9]*[1-9])?\.?0*Z$', '\1+00:00')) ORDER BY place)
  FROM jsonb_array_elements_text(changes -> 'started_at') WITH ORDINALITY AS held (value, place)))
WHERE changes ->> 'started_at' LIKE '%Z"%';
COMMENT ON COLUMN training.activities.name IS 'Name; the last one that the service told, which stays when a later answer has none';
COMMENT ON COLUMN training.activities.description IS 'Description; NULL when the detail says that there is none, or neither list nor detail has ever sent one';
COMMENT ON COLUMN training.activities.activity_type IS 'Type in the words of the service, such as Cycling; the last one that it told, which stays when a later answer has none';
COMMENT ON COLUMN training.activity_revisions.changes IS 'Column names with the value before and the value after, as Postgres writes them in JSON, in the units of those columns: {"xss":[old,new]}. Where a comparison with the service found other values in the samples, in what is derived from them or in the stored answer, the first of each: {"samples.hr":[old,new]}';
