import { cleanNullable, cleanText } from '../clean.ts'
import type { Tx } from '../store.ts'
import { exactStart } from './exact-start.ts'

/** What an entry of the activity list says. `startedAtLocal` is `YYYY-MM-DD HH:MM:SS` on the wall clock of `timezone`. */
export type ListedActivity = Readonly<{
  path: string
  name: string | null
  description: string | null
  activityType: string | null
  startedAt: Date | null
  timezone: string | null
  startedAtLocal: string | null
}>

export type ListedCounts = { inserted: number; marked: number }

// As many entries as make about a megabyte of JSON in one statement.
const BATCH = 5_000

const ENTRIES = `entries AS (
  SELECT * FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (path text, name text, description text, activity_type text,
    started_at timestamptz, timezone text, started_at_local timestamp)) WITH ORDINALITY)`

// A start that could not be read this time does not wipe out one that could.
const UPDATE = `WITH ${ENTRIES},
before AS (
  SELECT a.activity_id, a.fetched_at, e.name, e.description, e.activity_type,
    coalesce(e.started_at, a.started_at) AS started_at,
    coalesce(e.timezone, a.timezone) AS timezone,
    coalesce(e.started_at_local, a.started_at_local) AS started_at_local,
    to_jsonb(a) AS was
  FROM entries e JOIN training.activities a ON a.account_id = $2 AND a.path = e.path
  WHERE NOT $4::boolean OR a.absent_since IS NOT NULL OR (a.detail_state = 'failed' AND a.next_fetch_at IS NULL)
    OR (a.name, a.description, a.activity_type, a.started_at, a.timezone, a.started_at_local) IS DISTINCT FROM
      (e.name, e.description, e.activity_type, coalesce(e.started_at, a.started_at), coalesce(e.timezone, a.timezone),
       coalesce(e.started_at_local, a.started_at_local))
  ORDER BY a.activity_id
  FOR UPDATE OF a),
diff AS (
  SELECT b.activity_id, jsonb_object_agg(now.key, jsonb_build_array(b.was -> now.key, now.value)) AS changes
  FROM before b CROSS JOIN LATERAL jsonb_each(jsonb_build_object('name', b.name, 'description', b.description,
    'activity_type', b.activity_type, 'started_at', b.started_at, 'timezone', b.timezone,
    'started_at_local', b.started_at_local)) AS now
  WHERE b.fetched_at IS NOT NULL AND b.was -> now.key IS DISTINCT FROM now.value
  GROUP BY b.activity_id),
revised AS (
  INSERT INTO training.activity_revisions (activity_id, observed_at, changes)
  SELECT activity_id, $3::timestamptz, changes FROM diff)
UPDATE training.activities a SET
  name = b.name, description = b.description, activity_type = b.activity_type,
  started_at = b.started_at, timezone = b.timezone, started_at_local = b.started_at_local,
  listed_at = greatest(a.listed_at, $3::timestamptz), wanted_at = greatest(a.wanted_at, $3::timestamptz), absent_since = NULL,
  detail_state = CASE WHEN a.detail_state IN ('awaiting_samples', 'failed') THEN a.detail_state ELSE 'wanted' END,
  next_fetch_at = CASE WHEN a.detail_state IN ('awaiting_samples', 'failed') THEN $3::timestamptz END
FROM before b WHERE a.activity_id = b.activity_id`

// The ids follow the order of the entries, which a join does not keep by itself.
const INSERT = `WITH ${ENTRIES}
INSERT INTO training.activities (account_id, path, name, description, activity_type, started_at, timezone,
  started_at_local, detail_state, listed_at, wanted_at)
SELECT $2, e.path, e.name, e.description, e.activity_type, e.started_at, e.timezone, e.started_at_local,
  'wanted', $3::timestamptz, $3::timestamptz
FROM entries e
WHERE NOT EXISTS (SELECT FROM training.activities a WHERE a.account_id = $2 AND a.path = e.path)
ORDER BY e.ordinality
ON CONFLICT (account_id, path) DO NOTHING`

const TOUCH = `WITH ${ENTRIES}
UPDATE training.activities a SET listed_at = $3::timestamptz
FROM entries e WHERE a.account_id = $2 AND a.path = e.path AND a.listed_at < $3::timestamptz`

/**
 * Takes over entries of the activity list (service document, "Activity list entry") and marks them wanted: new rows
 * are made, known ones take the list's fields and are no longer absent. Rows that await samples or have failed keep
 * that state, and are due at once. `listedAt` is when the list was asked for. What changed in an activity that had
 * been fetched goes to `activity_revisions`. A path named twice counts once, with its last entry.
 *
 * With `onlyChanged`, for a list that names everything, known rows become wanted only when the list says something
 * else of them than they do, when they were absent, or when they failed without a next moment.
 */
export async function upsertListed(
  tx: Tx,
  input: { accountId: number; entries: readonly ListedActivity[]; listedAt: Date; onlyChanged?: boolean },
): Promise<ListedCounts> {
  const entries = [...new Map(input.entries.map((entry) => [cleanText(entry.path), entry])).values()]
  // The newest get the lowest ids, as they are fetched first: samples that lie in the order of their ids are found at once.
  const rows = entries.toSorted((a, b) => startOf(b) - startOf(a)).map(toRow)
  const counts: ListedCounts = { inserted: 0, marked: 0 }
  for (let start = 0; start < rows.length; start += BATCH) {
    const values = [JSON.stringify(rows.slice(start, start + BATCH)), input.accountId, input.listedAt]
    const onlyChanged = input.onlyChanged ?? false
    counts.marked += (await tx.client.query(UPDATE, [...values, onlyChanged])).rowCount ?? 0
    counts.inserted += (await tx.client.query(INSERT, values)).rowCount ?? 0
    if (onlyChanged) await tx.client.query(TOUCH, values)
  }
  return counts
}

/** When an activity starts, ms since 1970; one without a start before all others. */
function startOf({ startedAt }: ListedActivity): number {
  return startedAt?.getTime() ?? Number.MIN_SAFE_INTEGER
}

function toRow(entry: ListedActivity) {
  return {
    path: cleanText(entry.path),
    name: cleanNullable(entry.name),
    description: cleanNullable(entry.description),
    activity_type: cleanNullable(entry.activityType),
    started_at: entry.startedAt && exactStart(entry.startedAt, entry.startedAtLocal),
    timezone: cleanNullable(entry.timezone),
    started_at_local: cleanNullable(entry.startedAtLocal),
  }
}
