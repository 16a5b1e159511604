import { and, eq, gt, isNull, lte, or } from 'drizzle-orm'
import type { Row, SqlRow } from '../fields/field.ts'
import type { DEFINITION_FIELDS, WORKOUT_SET_FIELDS } from '../fields/training-fields.ts'
import { cleanJson, cleanNullable, cleanText } from './clean.ts'
import { workoutDefinitions, workoutSets } from './schema/index.ts'
import { acquireNamedLock, type Tx } from './store.ts'
import { olderUntil } from './training-info-rows.ts'

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

// An entry without a name keeps the known name. An absent entry counts as changed, because it may have changed meanwhile.
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

/** Finds the paths in an owner's last recorded list. */
export async function findPresentWorkouts(tx: Tx, owner: ListOwner): Promise<string[]> {
  const { rows } = await tx.client.query<{ path: string }>(
    `SELECT w.path FROM training.workouts w WHERE ${IS_OWNERS} AND w.absent_since IS NULL`,
    keyOf(owner),
  )
  return rows.map((row) => row.path)
}

/**
 * Writes the entries of a workout list (service document, "Workout list entry") that was requested at `listedAt`. Inserts new entries, updates
 * changed and absent entries, and leaves the others unchanged. Returns the number of rows written. If two entries have the same path, the last
 * one counts.
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

/** Marks workouts of an owner's list as absent since `absentSince`. Returns how many were newly marked. */
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

const KEY = [workoutDefinitions.accountId, workoutDefinitions.path]

/** A workout as the service resolved it, with its sets (perhaps none); `raw` is the answer as sent. */
export type WorkoutDefinition = Readonly<
  Row<typeof DEFINITION_FIELDS> & { raw: unknown; sets: ReadonlyArray<Row<typeof WORKOUT_SET_FIELDS>> }
>

/** A listed workout, with the time and the signature of its definition, null before the first. `failedAt`: when a fetch after that failed. */
export type DefinitionState = Readonly<{
  path: string
  changedAt: Date | null
  resolvedAt: Date | null
  failedAt: Date | null
  signature: unknown
  hasSets: boolean
}>

/** Finds every workout on the account's list and on its service's default list, with the state of its definition. */
export async function findDefinitionStates(tx: Tx, input: { accountId: number; baseUrl: string }) {
  const { rows } = await tx.client.query<DefinitionState>(
    `select w.path, w.changed_at as "changedAt", d.resolved_at as "resolvedAt", d.failed_at as "failedAt", d.signature,
       exists (select from training.workout_sets s where s.account_id = $1 and s.path = w.path) as "hasSets"
     from (select path, max(changed_at) as changed_at from training.workouts
           where absent_since is null and (account_id = $1 or (account_id is null and base_url = $2))
           group by path) w
     left join training.workout_definitions d on d.account_id = $1 and d.path = w.path
     order by w.path`,
    [input.accountId, input.baseUrl],
  )
  return rows
}

/** Replaces a workout's definition by the one of `resolvedAt` for this signature. An older answer changes nothing. */
export async function recordDefinition(
  tx: Tx,
  input: {
    accountId: number
    path: string
    definition: WorkoutDefinition
    resolvedAt: Date
    signature: unknown
  },
): Promise<void> {
  const { accountId, definition, resolvedAt } = input
  const { name, description, raw, sets } = definition
  const path = cleanText(input.path)
  const signature = cleanJson(input.signature)
  const content = { name: cleanNullable(name), description: cleanNullable(description), raw: cleanJson(raw) }
  const resolved = { ...content, resolvedAt, signature, failedAt: null, fetchError: null }
  await acquireNamedLock(tx, 'workout sets', accountId)
  const isNewer = or(
    isNull(workoutDefinitions.resolvedAt),
    lte(workoutDefinitions.resolvedAt, resolvedAt),
    gt(workoutDefinitions.resolvedAt, olderUntil(resolvedAt)),
  )
  const written = await tx.db
    .insert(workoutDefinitions)
    .values({ accountId, path, ...resolved })
    .onConflictDoUpdate({ target: KEY, set: resolved, ...(isNewer && { setWhere: isNewer }) })
  if (written.rowCount === 0) return
  await tx.db.delete(workoutSets).where(and(eq(workoutSets.accountId, accountId), eq(workoutSets.path, path)))
  if (sets.length === 0) return
  await tx.db.insert(workoutSets).values(
    sets.map((set, position) => ({
      ...{ accountId, path, position, resolvedAt, signature },
      ...{ ...set, name: cleanNullable(set.name) },
    })),
  )
}

/** Records why fetching a workout's definition failed at `failedAt`; existing sets stay. */
export async function recordDefinitionFailure(
  tx: Tx,
  input: { accountId: number; path: string; failedAt: Date; error: string },
): Promise<void> {
  const failure = { failedAt: input.failedAt, fetchError: cleanText(input.error) }
  await tx.db
    .insert(workoutDefinitions)
    .values({ accountId: input.accountId, path: cleanText(input.path), ...failure })
    .onConflictDoUpdate({ target: KEY, set: failure })
}

/** A workout on an account's own list or on the default list, as last resolved, in watts and seconds. */
export type SavedWorkout = Readonly<{
  path: string
  /** whether it is on the account's own list */
  isOwn: boolean
  name: string | null
  description: string | null
  /** W; null if the definition's signature does not have it */
  ftp: number | null
  resolvedAt: Date
  sets: ReadonlyArray<Omit<SqlRow<typeof WORKOUT_SET_FIELDS>, 'index'>>
}>

/** Finds an account's listed workouts that have a definition resolved for the rider's signature, sorted by path. Each workout's sets are sorted by position. */
export async function findSavedWorkouts(tx: Tx, input: { accountId: number; baseUrl: string }) {
  const { rows } = await tx.client.query<SavedWorkout>(
    `select w.path, w.account_id is not null as "isOwn", coalesce(d.name, w.name) as name,
       coalesce(d.description, w.description) as description, d.resolved_at as "resolvedAt",
       case when jsonb_typeof(d.signature->'ftp') = 'number' then (d.signature->>'ftp')::float8 end as ftp,
       coalesce((select jsonb_agg(to_jsonb(s) order by s.position) from training.workout_sets s
         where s.account_id = $1 and s.path = w.path), '[]') as sets
     from (select distinct on (path) * from training.workouts
           where absent_since is null and (account_id = $1 or (account_id is null and base_url = $2))
           order by path, account_id) w
     join training.workout_definitions d on d.account_id = $1 and d.path = w.path and d.resolved_at is not null
     order by w.path`,
    [input.accountId, input.baseUrl],
  )
  return rows
}
