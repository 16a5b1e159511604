import { eq } from 'drizzle-orm'
import { cleanNullable, cleanText } from '../clean.ts'
import type { ListColumn } from '../schema/activities.ts'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { exactStart } from './activity-changes.ts'

/** An entry of the activity list. `startedAtLocal` is `YYYY-MM-DD HH:MM:SS` in `timezone`; `timezoneSource` is `unknown` if only UTC is sent. */
export type ListedActivity = Readonly<
  Pick<typeof activities.$inferSelect, 'path' | ListColumn> & {
    sigManual?: string | null
    sigError?: string | null
  }
>

type ListedCounts = { inserted: number; marked: number }

/**
 * What to do with a known activity whose entry is unchanged, unless it is absent or failed for good. `fetch` makes it wanted, `leave` does
 * nothing. Otherwise it becomes wanted if its path is in `changed`, or is fetched once more after a pause, which grows from `firstPauseMs`
 * to `lastPauseMs` with the time since its last change.
 */
export type WhenSame =
  | 'fetch'
  | 'leave'
  | { changed: ReadonlySet<string>; firstPauseMs: number; lastPauseMs: number }

// Maximum entries per statement: about a megabyte of JSON.
const BATCH = 5_000

const ENTRIES = `entries AS (
  SELECT * FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (path text, name text, description text, activity_type text,
    started_at timestamptz, timezone text, started_at_local timestamp, timezone_source text, fields jsonb, wanted boolean))
  WITH ORDINALITY)`

// A detail's value stays until a newer detail comes. Only a name or description also changes if the list's own value changes. An entry
// without a name or type keeps the known one. A name, description or type that neither list nor detail sent does not come from the service
// and counts as changed. An unreadable start is no change and does not replace a readable one. An entry with only UTC does not replace a
// time zone that was found.
const UPDATE = `WITH ${ENTRIES},
before AS (
  SELECT a.activity_id, known.list AS list_fields, known.changed OR e.wanted AS wanted,
    CASE WHEN known.renamed OR NOT known.detail ? 'name' THEN coalesce(e.name, a.name)
      WHEN unsent.name THEN known.detail ->> 'name' ELSE a.name END AS name,
    CASE WHEN known.redescribed OR NOT known.detail ? 'description' THEN e.description
      WHEN unsent.description THEN known.detail ->> 'description' ELSE a.description END AS description,
    coalesce(known.detail ->> 'activity_type', e.activity_type, a.activity_type) AS activity_type,
    CASE WHEN known.keeps_start THEN a.started_at ELSE e.started_at END AS started_at,
    CASE WHEN zone.stays THEN a.timezone ELSE e.timezone END AS timezone,
    CASE WHEN zone.stays THEN a.started_at_local ELSE e.started_at_local END AS started_at_local,
    CASE WHEN zone.stays THEN a.timezone_source ELSE e.timezone_source END AS timezone_source
  FROM entries e JOIN training.activities a ON a.account_id = $2 AND a.path = e.path
  CROSS JOIN LATERAL (SELECT a.name IS DISTINCT FROM a.list_fields ->> 'name' AND a.name IS DISTINCT FROM a.detail_fields ->> 'name'
      AND coalesce(a.list_fields ->> 'name', a.detail_fields ->> 'name') IS NOT NULL AS name,
    NOT (coalesce(a.detail_fields ? 'description', false) AND a.description IS NOT DISTINCT FROM a.detail_fields ->> 'description'
      OR coalesce(a.description = a.list_fields ->> 'description', a.description IS NULL
        AND a.list_fields ->> 'description' IS NULL AND NOT coalesce(a.detail_fields ? 'description', false))) AS description,
    a.activity_type IS DISTINCT FROM
      coalesce(a.detail_fields ->> 'activity_type', a.list_fields ->> 'activity_type', a.activity_type) AS type) unsent
  CROSS JOIN LATERAL (SELECT
    coalesce(a.list_fields, '{}') || e.fields AS list,
    coalesce(a.detail_fields, '{}') AS detail,
    a.list_fields IS DISTINCT FROM coalesce(a.list_fields, '{}') || e.fields OR a.absent_since IS NOT NULL
      OR (a.detail_state = 'failed' AND a.next_fetch_at IS NULL) OR unsent.name OR unsent.description OR unsent.type AS changed,
    e.name <> a.list_fields ->> 'name' AS renamed,
    a.list_fields IS NOT NULL AND e.description IS NOT NULL
      AND e.description IS DISTINCT FROM a.list_fields ->> 'description' AS redescribed,
    e.started_at IS NULL OR coalesce(a.detail_fields, '{}') ? 'started_at' AS keeps_start) known
  CROSS JOIN LATERAL (SELECT known.keeps_start
    OR e.timezone_source = 'unknown' AND e.started_at = a.started_at AND a.timezone_source <> 'service' AS stays) zone
  WHERE NOT $4::boolean OR known.changed
  ORDER BY a.activity_id
  FOR UPDATE OF a)
UPDATE training.activities a SET
  name = b.name, description = b.description, activity_type = b.activity_type,
  started_at = b.started_at, timezone = b.timezone, started_at_local = b.started_at_local,
  timezone_source = b.timezone_source, list_fields = b.list_fields,
  listed_at = greatest(a.listed_at, $3::timestamptz), absent_since = NULL,
  wanted_at = CASE WHEN b.wanted THEN greatest(a.wanted_at, $3::timestamptz) ELSE a.wanted_at END,
  detail_state = CASE WHEN b.wanted AND a.detail_state = 'mirrored' THEN 'wanted' ELSE a.detail_state END,
  next_fetch_at = CASE
    WHEN b.wanted AND a.detail_state IN ('awaiting_samples', 'failed') THEN $3::timestamptz
    WHEN b.wanted OR a.detail_state = 'wanted' THEN NULL
    WHEN a.detail_state = 'mirrored' AND a.next_fetch_at IS NULL THEN
      least(a.fetched_at, $3::timestamptz) + least($6, greatest($5, a.fetched_at - a.wanted_at))
    ELSE a.next_fetch_at END
FROM before b WHERE a.activity_id = b.activity_id
RETURNING b.wanted`

// Orders the rows explicitly, because a join keeps no order and the ids must follow the order of the entries.
const INSERT = `WITH ${ENTRIES}
INSERT INTO training.activities (account_id, path, name, description, activity_type, started_at, timezone,
  started_at_local, timezone_source, list_fields, detail_state, listed_at, wanted_at)
SELECT $2, e.path, e.name, e.description, e.activity_type, e.started_at, e.timezone, e.started_at_local, e.timezone_source, e.fields,
  'wanted', $3::timestamptz, $3::timestamptz
FROM entries e
WHERE NOT EXISTS (SELECT FROM training.activities a WHERE a.account_id = $2 AND a.path = e.path)
ORDER BY e.ordinality
ON CONFLICT (account_id, path) DO NOTHING`

/**
 * Writes entries of the activity list (service document, "Activity list entry"). Returns how many rows were inserted, and how many known
 * activities became wanted because their entry changed, they were absent, or they failed without a next fetch; `whenSame` decides about the
 * others. Rows that await samples or have failed keep that state and become due at once. Values of the detail stay, except after a rename.
 * A trigger records changes of already fetched activities in `activity_revisions`. `listedAt` is the time of the request. If two entries
 * have the same path, the last one counts.
 */
export async function upsertListed(
  tx: Tx,
  input: {
    accountId: number
    entries: readonly ListedActivity[]
    listedAt: Date
    whenSame?: WhenSame
  },
): Promise<ListedCounts> {
  const { accountId, listedAt, whenSame = 'fetch' } = input
  const pauses = typeof whenSame === 'object' ? whenSame : { firstPauseMs: 0, lastPauseMs: 0 }
  const entries = [...new Map(input.entries.map((entry) => [cleanText(entry.path), entry])).values()]
  // The newest activities are fetched first, so they get the lowest ids: the index works best if samples lie in the order of ids.
  const rows = entries
    .toSorted((a, b) => startOf(b) - startOf(a))
    .map((entry) => {
      const wanted = typeof whenSame === 'object' ? whenSame.changed.has(entry.path) : whenSame === 'fetch'
      // A column that the entry lacks is left out, which means NULL.
      const fields = fieldsOfEntry(entry)
      return { ...fields, path: cleanText(entry.path), timezone_source: entry.timezoneSource, fields, wanted }
    })
  const counts: ListedCounts = { inserted: 0, marked: 0 }
  // Read by the trigger that writes revisions at the end of the transaction.
  await tx.client.query(`SELECT set_config('musette.listed_at', $1, true)`, [listedAt.toISOString()])
  for (let start = 0; start < rows.length; start += BATCH) {
    const values = [JSON.stringify(rows.slice(start, start + BATCH)), accountId, listedAt]
    const { rows: known } = await tx.client.query<{ wanted: boolean }>(UPDATE, [
      ...values,
      whenSame === 'leave',
      `${pauses.firstPauseMs} ms`,
      `${pauses.lastPauseMs} ms`,
    ])
    counts.marked += known.filter(({ wanted }) => wanted).length
    counts.inserted += Number((await tx.client.query(INSERT, values)).rowCount)
  }
  return counts
}

/** Returns an activity's start, ms since 1970; an activity without a start counts as the oldest. */
function startOf({ startedAt }: ListedActivity): number {
  return startedAt?.getTime() ?? Number.MIN_SAFE_INTEGER
}

/** Returns the fields of an entry. A missing name, type or start is left out, so that the known value stays. */
export function fieldsOfEntry(entry: ListedActivity): Record<string, string | null> {
  const [name, type] = [cleanNullable(entry.name), cleanNullable(entry.activityType)]
  const { startedAt, startedAtLocal, timezone, sigManual = null, sigError = null } = entry
  return {
    ...(name !== null && { name }),
    description: cleanNullable(entry.description),
    ...(type !== null && { activity_type: type }),
    ...((sigManual ?? sigError) !== null && { sig_manual: sigManual, sig_error: cleanNullable(sigError) }),
    ...(startedAt && {
      started_at: exactStart(startedAt, startedAtLocal),
      timezone: cleanNullable(timezone),
      started_at_local: cleanNullable(startedAtLocal),
    }),
  }
}

export type KnownActivity = Awaited<ReturnType<typeof findKnownActivities>>[number]

/** Finds all activities of an account, including absent ones, for a comparison with the service's whole list. */
export async function findKnownActivities(tx: Tx, accountId: number) {
  const { activityId, path, startedAt, absentSince, listedAt, wantedAt, detailState, name } = activities
  return await tx.db
    .select({ activityId, path, startedAt, absentSince, listedAt, wantedAt, detailState, name })
    .from(activities)
    .where(eq(activities.accountId, accountId))
}

/** Marks activities as absent since `absentSince`, until the service lists them again. Returns how many were newly marked. */
export async function recordAbsent(
  tx: Tx,
  input: { accountId: number; activityIds: readonly number[]; absentSince: Date },
): Promise<number> {
  const { rowCount } = await tx.client.query(
    `UPDATE training.activities SET absent_since = $3
     WHERE account_id = $1 AND activity_id = ANY ($2::int[]) AND absent_since IS NULL`,
    [input.accountId, input.activityIds, input.absentSince],
  )
  return Number(rowCount)
}
