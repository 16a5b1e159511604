import { eq, getTableColumns } from 'drizzle-orm'
import { activities, activityRevisions } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'
import { exactStart } from './upsert-listed.ts'

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
export async function updateActivities(
  tx: Tx,
  rows: ReadonlyArray<ActivityChange & { activityId: number }>,
): Promise<void> {
  const alike = new Map<string, Array<Record<string, unknown>>>()
  for (const row of rows) {
    const known = Object.entries(row).filter(([key, value]) => COLUMNS[key] && value !== undefined)
    const keys = known.map(([key]) => key).join()
    const start = row.startedAt && { startedAt: exactStart(row.startedAt, row.startedAtLocal) }
    alike.set(keys, [...(alike.get(keys) ?? []), { ...Object.fromEntries(known), ...start }])
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

/**
 * Records the columns that an answer changes in an activity that was fetched before, and `others` that a comparison found beside
 * them; nothing when nothing changes. `observedAt` is the time of the request.
 */
export async function recordRevision(
  tx: Tx,
  input: { activityId: number; after: ActivityChange; observedAt: Date; others?: Changes | undefined },
): Promise<void> {
  const { activityId, after, observedAt, others } = input
  const [before] = await tx.db.select().from(activities).where(eq(activities.activityId, activityId))
  const changes = { ...(before ? diffRows(before, after) : {}), ...others }
  if (Object.keys(changes).length === 0) return
  await tx.db.insert(activityRevisions).values({ activityId, observedAt, changes })
}

/** Returns the columns whose values differ, by their names in the table. */
export function diffRows(before: ActivityChange, after: ActivityChange): Changes {
  const changes: Changes = {}
  for (const [key, value] of Object.entries(after)) {
    const column = COLUMNS[key]
    if (!column || value === undefined) continue
    const was = readColumn(before, key)
    const now = readColumn(after, key)
    if (was !== now) changes[column.name] = [was, now]
  }
  return changes
}

/** A start has the microseconds of its local time, which a Date does not hold, without the trailing zeros of what was sent. */
function readColumn(row: ActivityChange, key: string): Json {
  if (key === 'startedAt' && row.startedAt)
    return exactStart(row.startedAt, row.startedAtLocal).replace(/(\.\d{3}\d*?)0+Z$/, '$1Z')
  const value = (row as Readonly<Record<string, unknown>>)[key]
  return key === 'startedAtLocal' ? toWallClock(value) : toJson(value)
}

/** Writes a local time as Postgres does in JSON: with a T, and without trailing zeros, which the table does not keep. */
function toWallClock(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return value
    .replace(' ', 'T')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
}

function toJson(value: unknown): string | number | boolean | null {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return null
}
