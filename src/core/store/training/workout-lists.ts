import { cleanJson, cleanNullable, cleanText } from '../clean.ts'
import type { Tx } from '../store.ts'

/** The owner of a list: an account, or a service for its default list. */
export type ListOwner = Readonly<{ accountId: number } | { baseUrl: string }>

/** An entry of a workout list; `raw` is the entry as sent. */
export type ListedWorkout = Readonly<{
  path: string
  name: string | null
  description: string | null
  lastModified: Date | null
  raw: unknown
}>

const IS_OWNERS = 'w.account_id IS NOT DISTINCT FROM $1::int AND w.base_url IS NOT DISTINCT FROM $2::text'

const ENTRIES = `entries AS (
  SELECT * FROM jsonb_to_recordset($4::jsonb) AS e(path text, name text, description text,
    last_modified timestamptz, raw jsonb))`

// An entry without a name keeps the one that is known. An entry that was absent counts as changed, because it may have changed meanwhile.
const UPDATE = `WITH ${ENTRIES}
UPDATE training.workouts w SET name = coalesce(e.name, w.name), description = e.description, last_modified = e.last_modified,
  raw = e.raw, changed_at = $3::timestamptz, absent_since = NULL
FROM entries e
WHERE ${IS_OWNERS} AND w.path = e.path AND (w.absent_since IS NOT NULL
  OR (w.name, w.description, w.last_modified, w.raw)
    IS DISTINCT FROM (coalesce(e.name, w.name), e.description, e.last_modified, e.raw))`

const INSERT = `WITH ${ENTRIES}
INSERT INTO training.workouts (account_id, base_url, path, name, description, last_modified, raw, changed_at)
SELECT $1, $2, e.path, e.name, e.description, e.last_modified, e.raw, $3::timestamptz
FROM entries e
WHERE NOT EXISTS (SELECT FROM training.workouts w WHERE ${IS_OWNERS} AND w.path = e.path)`

const ABSENT = `UPDATE training.workouts w SET absent_since = $3::timestamptz
WHERE ${IS_OWNERS} AND w.absent_since IS NULL AND w.path = ANY($4::text[])`

/** Finds the paths of an owner's last recorded list. */
export async function findPresentWorkouts(tx: Tx, owner: ListOwner): Promise<string[]> {
  const { rows } = await tx.client.query<{ path: string }>(
    `SELECT w.path FROM training.workouts w WHERE ${IS_OWNERS} AND w.absent_since IS NULL`,
    keyOf(owner),
  )
  return rows.map((row) => row.path)
}

/**
 * Writes the entries of a workout list (service document, "Workout list entry") that was requested at `listedAt`: new entries
 * are inserted, changed and absent ones updated, unchanged ones left alone. Returns the number of rows written. Of two entries
 * with one path the last one counts.
 */
export async function upsertWorkouts(
  tx: Tx,
  input: { owner: ListOwner; entries: readonly ListedWorkout[]; listedAt: Date },
): Promise<number> {
  const rows = [...new Map(input.entries.map((entry) => [cleanText(entry.path), toRow(entry)])).values()]
  const values = [...keyOf(input.owner), input.listedAt, JSON.stringify(rows)]
  const changed = await tx.client.query(UPDATE, values)
  const made = await tx.client.query(INSERT, values)
  return (changed.rowCount ?? 0) + (made.rowCount ?? 0)
}

/** Marks workouts of an owner's list as missing since `absentSince`; returns how many were newly marked. */
export async function recordWorkoutsAbsent(
  tx: Tx,
  input: { owner: ListOwner; paths: readonly string[]; absentSince: Date },
): Promise<number> {
  const values = [...keyOf(input.owner), input.absentSince, input.paths]
  return (await tx.client.query(ABSENT, values)).rowCount ?? 0
}

function keyOf(owner: ListOwner): [number | null, string | null] {
  return 'accountId' in owner ? [owner.accountId, null] : [null, owner.baseUrl]
}

function toRow(entry: ListedWorkout) {
  return {
    path: cleanText(entry.path),
    name: cleanNullable(entry.name),
    description: cleanNullable(entry.description),
    last_modified: entry.lastModified,
    raw: cleanJson(entry.raw),
  }
}
