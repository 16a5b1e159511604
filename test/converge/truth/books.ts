import { MINUTE } from '../../../src/kit/time.ts'
import type { Scene } from '../plan/scene.ts'
import type { Tables } from './rows.ts'
import { isSame } from './same.ts'

/** Compares what the mirror keeps about its own work: runs, the cursor, revisions, rows that belong to nothing. */
export async function findBookDifferences(scene: Scene, tables: Tables): Promise<string[]> {
  return [
    ...(await findRunDifferences(scene)),
    ...(await findCursorDifferences(scene)),
    ...findRevisionDifferences(tables),
    ...findOrphans(tables),
  ]
}

async function findRunDifferences(scene: Scene): Promise<string[]> {
  const runs = await scene.database.rows<{ kind: string; outcome: string; finished: boolean }>(
    'select kind, outcome, finished_at is not null as finished from training.sync_runs order by run_id',
  )
  const found = runs
    .filter((run) => run.outcome === 'running' || !run.finished)
    .map((run) => `a run (${run.kind}) is left ${run.outcome}`)
  const last = runs.at(-1)
  if (last?.outcome !== 'done') found.push(`the last run (${last?.kind}) is ${last?.outcome}`)
  return found
}

async function findCursorDifferences(scene: Scene): Promise<string[]> {
  const cursors = await scene.database.rows<{ updated_from: Date | null }>(
    `select updated_from from training.sync_cursors where resource = 'activities'`,
  )
  const [cursor] = cursors
  if (cursors.length !== 1 || !cursor?.updated_from) return [`there are ${cursors.length} cursors`]
  const behindMs = scene.clock.now().getTime() - cursor.updated_from.getTime()
  return behindMs >= 0 && behindMs < MINUTE ? [] : [`the cursor is ${behindMs} ms behind the service's clock`]
}

/** Found also from the activities before and after, which is no edit of the service and has no revision. */
const OF_THE_ZONE = ['timezone', 'timezone_source', 'started_at_local']

/** Each revision begins where the one before ended, and the last ends at what the row says. */
function findRevisionDifferences(tables: Tables): string[] {
  const found: string[] = []
  for (const row of tables.activities) {
    const latest = new Map<string, unknown>()
    for (const { changes } of tables.revisions.get(row.activity_id) ?? []) {
      for (const [column, [was, is]] of Object.entries(changes)) {
        if (isSame(was, is)) found.push(`${row.path}: a revision of ${column} changes nothing`)
        if (OF_THE_ZONE.includes(column)) continue
        if (latest.has(column) && !isSame(latest.get(column), was)) {
          found.push(
            `${row.path}: a revision of ${column} begins at ${JSON.stringify(was)}, the last ended at ${JSON.stringify(latest.get(column))}`,
          )
        }
        latest.set(column, is)
      }
    }
    for (const [column, is] of latest) {
      const value = row[column]
      if (value instanceof Date) continue
      if (!isSame(value, is))
        found.push(`${row.path}: the last revision of ${column} is not what the row says`)
    }
  }
  return found
}

function findOrphans(tables: Tables): string[] {
  const known = new Set(tables.activities.map((row) => row.activity_id))
  return [...tables.samples.keys()]
    .filter((id) => !known.has(id))
    .map((id) => `samples of no activity (${id})`)
}
