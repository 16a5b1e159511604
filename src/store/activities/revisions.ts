import { eq, getTableColumns } from 'drizzle-orm'
import { activities, activityRevisions } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

type Row = typeof activities.$inferSelect

/**
 * Records the columns that an answer changes in an activity that was fetched before, as `{"xss":[old,new]}`; nothing when no
 * column changes. `observedAt` is the time of the request.
 */
export async function recordRevision(
  tx: Tx,
  input: { activityId: number; after: Readonly<Partial<Row>>; observedAt: Date },
): Promise<void> {
  const { activityId, after, observedAt } = input
  const [before] = await tx.db.select().from(activities).where(eq(activities.activityId, activityId))
  const changes = before ? diffRows(before, after) : {}
  if (Object.keys(changes).length === 0) return
  await tx.db.insert(activityRevisions).values({ activityId, observedAt, changes })
}

function diffRows(before: Row, after: Readonly<Partial<Row>>): Record<string, [Json, Json]> {
  const old: Readonly<Record<string, unknown>> = before
  const columns: Readonly<Record<string, { name: string } | undefined>> = getTableColumns(activities)
  const changes: Record<string, [Json, Json]> = {}
  for (const [key, value] of Object.entries(after)) {
    const column = columns[key]
    if (!column || value === undefined) continue
    const read = key === 'startedAtLocal' ? toWallClock : toJson
    const was = read(old[key])
    const now = read(value)
    if (was !== now) changes[column.name] = [was, now]
  }
  return changes
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
