import { readFile } from 'node:fs/promises'
import { VIEWS } from './scene.ts'

/** Where the views stand as they first were, to compare the present ones with. */
const SCHEMA = 'before'

/** The views that were written anew since; `watts` and the like mean the same in both. */
export const REWRITTEN = [
  'today',
  'daily_load',
  'weekly_summary',
  'power_bests',
  'ride_intensity',
  'zones_by_week',
  'mirror_health',
  'recalculations',
] as const

/** Reads the statements that make the views as they first were, in a schema of their own. */
export async function readFirstViews(): Promise<string> {
  const text = await readFile('drizzle/0012_views.sql', 'utf8')
  const names = new RegExp(`training\\.(${VIEWS.join('|')})\\b`, 'g')
  return `create schema ${SCHEMA}; ${text.replace(names, `${SCHEMA}.$1`)}`
}

/** Asks for the rows that only one of a view's two versions has, by the columns of the first one. */
export function differences(view: string, columns: readonly string[]): string {
  const rows = (schema: string) =>
    `select ${columns.map((name) => `"${name}"`).join(', ')} from ${schema}.${view}`
  const only = (one: string, other: string) => `(${rows(one)} except all ${rows(other)})`
  return `${only('training', SCHEMA)} union all ${only(SCHEMA, 'training')}`
}
