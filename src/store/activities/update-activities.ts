import { getTableColumns } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { exactStart } from './upsert-listed.ts'

/** The columns of an activity that are set; the others stay. */
export type ActivityChange = Readonly<Partial<typeof activities.$inferSelect>>

const COLUMNS: Readonly<Record<string, { name: string; getSQLType(): string } | undefined>> =
  getTableColumns(activities)
/** The few statements there are, by the columns they set. */
const STATEMENTS = new Map<string, string>()

/**
 * Sets columns of activities; a member that is undefined leaves its column as it is. One statement updates all rows that set
 * the same columns, and its text is cached: drizzle needs a millisecond to build it for sixty columns, for every activity.
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
  const settings = columns
    .filter(({ key }) => key !== 'activityId')
    .map(({ key, column }) => `"${column?.name}" = row."${key}"`)
  const made = `UPDATE training.activities SET ${settings.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS row (${types.join(', ')}) WHERE activity_id = row."activityId"`
  STATEMENTS.set(keys, made)
  return made
}
