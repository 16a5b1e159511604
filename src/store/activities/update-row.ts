import { getTableColumns } from 'drizzle-orm'
import { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

type Row = typeof activities.$inferSelect
type Column = { name: string; mapToDriverValue(value: unknown): unknown }

const COLUMNS: Readonly<Record<string, Column | undefined>> = getTableColumns(activities)
/** The few statements there are, by the columns they set. */
const STATEMENTS = new Map<string, string>()

/**
 * Sets columns of an activity's row; a member that is undefined leaves its column as it is. Every ride comes through here
 * with sixty columns: the text of the statement is made once, where drizzle makes it anew each time, in a millisecond.
 */
export async function updateRow(tx: Tx, activityId: number, row: Readonly<Partial<Row>>): Promise<void> {
  const names: string[] = []
  const values: unknown[] = [activityId]
  for (const [key, value] of Object.entries(row)) {
    const column = COLUMNS[key]
    if (!column || value === undefined) continue
    names.push(column.name)
    values.push(value === null ? null : column.mapToDriverValue(value))
  }
  await tx.client.query(statementFor(names), values)
}

function statementFor(names: readonly string[]): string {
  const key = names.join()
  const known = STATEMENTS.get(key)
  if (known !== undefined) return known
  const settings = names.map((name, index) => `"${name}" = $${index + 2}`)
  const made = `UPDATE training.activities SET ${settings.join(', ')} WHERE activity_id = $1`
  STATEMENTS.set(key, made)
  return made
}
