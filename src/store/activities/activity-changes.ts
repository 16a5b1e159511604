import { getTableColumns } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** The columns of an activity that are set; the others stay. */
export type ActivityChange = Readonly<Partial<typeof activities.$inferSelect>>

const COLUMNS: Readonly<Record<string, { name: string; getSQLType(): string } | undefined>> =
  getTableColumns(activities)
/** The few statements there are, by the columns they set. */
const STATEMENTS = new Map<string, string>()

/**
 * Sets columns of activities; a member that is undefined leaves its column as it is, and a row that has all the values already is
 * not written. One statement updates all rows that set the same columns, and its text is cached: drizzle needs a millisecond to
 * build it for sixty columns, for every activity.
 */
export async function updateActivities(tx: Tx, rows: ReadonlyArray<ActivityChange & { activityId: number }>) {
  const alike = new Map<string, Array<Record<string, unknown>>>()
  for (const row of rows) {
    const entries = entriesOf(row)
    const keys = entries.map(([key]) => key).join()
    alike.set(keys, [...(alike.get(keys) ?? []), Object.fromEntries(entries)])
  }
  for (const [keys, same] of alike) await tx.client.query(statementFor(keys), [JSON.stringify(same)])
}

function statementFor(keys: string): string {
  const known = STATEMENTS.get(keys)
  if (known !== undefined) return known
  const columns = keys.split(',').map((key) => ({ key, column: COLUMNS[key] }))
  const types = columns.map(({ key, column }) => `"${key}" ${column?.getSQLType()}`)
  const set = columns.filter(({ key }) => key !== 'activityId')
  const [held, given] = [set.map(({ column }) => `a."${column?.name}"`), set.map(({ key }) => `row."${key}"`)]
  const settings = set.map(({ column }, index) => `"${column?.name}" = ${given[index]}`)
  const made = `UPDATE training.activities a SET ${settings.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS row (${types.join(', ')})
    WHERE a.activity_id = row."activityId" AND (${held.join(', ')}) IS DISTINCT FROM (${given.join(', ')})`
  STATEMENTS.set(keys, made)
  return made
}

/** Values that changed, each before and after: `{"xss":[old,new]}`. */
export type Changes = Record<string, [Json, Json]>

/** Finds the columns that `after` changes, by their names in the table. */
export async function findChanges(tx: Tx, activityId: number, after: ActivityChange): Promise<Changes> {
  const { rows } = await tx.client.query<{ changes: Changes }>(
    `SELECT musette.differences(to_jsonb(a), to_jsonb(jsonb_populate_record(a, $2::jsonb))) AS changes
     FROM training.activities a WHERE a.activity_id = $1`,
    [activityId, toRecord(after)],
  )
  return rows[0]?.changes ?? {}
}

/** Writes columns as JSON by their names in the table. */
function toRecord(after: ActivityChange): string {
  return JSON.stringify(
    Object.fromEntries(entriesOf(after).map(([key, value]) => [COLUMNS[key]?.name, value])),
  )
}

/** The columns that are set, and their values; a start with its microseconds. */
function entriesOf(change: ActivityChange): Array<[string, unknown]> {
  const { startedAt, startedAtLocal } = change
  const start = startedAt && { startedAt: exactStart(startedAt, startedAtLocal) }
  return Object.entries({ ...change, ...start }).filter(([key, value]) => COLUMNS[key] && value !== undefined)
}

/**
 * Writes a start as ISO 8601 in UTC with the microseconds of its local time, which a Date does not hold. The offset of a time
 * zone has no fractions of a second. `local` is `YYYY-MM-DD HH:MM:SS.ffffff`.
 */
export function exactStart(startedAt: Date, local: string | null | undefined): string {
  const beyondMs = /\.\d{3}(\d+)$/.exec(local ?? '')?.[1] ?? ''
  return startedAt.toISOString().replace('Z', `${beyondMs}Z`)
}
