import type { Scene } from '../plan/scene.ts'
import { findActivityDifferences } from './activity.ts'
import { findBookDifferences } from './books.ts'
import { findFeedDifferences } from './feed.ts'
import { type ActivityRow, findTables } from './rows.ts'
import { fetchTruths } from './service.ts'

/** Compares every table with the service, and the change feed with the tables; returns each difference as a sentence. */
export async function findDifferences(scene: Scene): Promise<string[]> {
  const truths = await fetchTruths(scene.service, scene.paths)
  const tables = await findTables(scene.database)
  const byPath = new Map<string, ActivityRow>()
  const found: string[] = []
  for (const row of tables.activities) {
    if (byPath.has(row.path)) found.push(`${row.path} is there twice`)
    byPath.set(row.path, row)
  }
  for (const truth of truths) {
    const row = byPath.get(truth.path)
    byPath.delete(truth.path)
    if (row) found.push(...findActivityDifferences(truth, row, tables))
    else if (truth.listed) found.push(`${truth.path} is missing`)
  }
  for (const path of byPath.keys()) found.push(`${path} is unknown to the service`)
  found.push(...(await findBookDifferences(scene, tables)))
  return [...found, ...(await findFeedDifferences(scene.database))]
}
