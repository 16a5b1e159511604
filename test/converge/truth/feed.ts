import { isDeepStrictEqual } from 'node:util'
import type { RunDatabase } from '../world/database.ts'

type Values = Record<string, unknown>
type Change = { id: number; owner: string; kind: string; detail: Values }

const FEED = `select change_id::float8 as id, concat_ws(' ', split_part(kind, '.', 1), account_id, path) as owner, kind, detail
  from training.changes order by change_id`

/** What the feed is about, as the tables hold it; of training information the newest. */
const TABLES = `
  select concat_ws(' ', 'activity', account_id, path) as owner, musette.content(a) - '{account_id,path}'::text[] as "values"
    from training.activities a
  union all
  select concat_ws(' ', 'workout', account_id, path), musette.content(w) - '{account_id,path}'::text[] from training.workouts w
  union all
  (select distinct on (i.account_id) concat_ws(' ', 'training_info', i.account_id), musette.content(i) - 'account_id'
    from training.training_info i order by i.account_id, i.observed_at desc)
  union all
  select concat_ws(' ', 'login', account_id), jsonb_build_object('needs_login', needs_login) from training.accounts`

/**
 * Replays the change feed from its beginning and compares what comes out of it with the tables: each change must fit on the
 * values before it, and at the end both must be equal. Returns every difference.
 */
export async function findFeedDifferences(database: Pick<RunDatabase, 'rows'>): Promise<string[]> {
  const state = new Map<string, Values>()
  const differences: string[] = []
  for (const change of await database.rows<Change>(FEED)) {
    if (change.kind.startsWith('upload.')) continue
    differences.push(...replay(state, change))
  }
  for (const { owner, values } of await database.rows<{ owner: string; values: Values }>(TABLES)) {
    const replayed = state.get(owner) ?? (owner.startsWith('login ') ? { needs_login: true } : undefined)
    state.delete(owner)
    if (!isDeepStrictEqual(replayed, values)) {
      const columns = Object.keys(values).filter((name) => !isDeepStrictEqual(replayed?.[name], values[name]))
      differences.push(`the change feed tells other values of ${owner}: ${columns.join(', ')}`)
    }
  }
  return [
    ...differences,
    ...[...state.keys()].map((owner) => `the change feed tells of ${owner}, which no table has`),
  ]
}

function replay(state: Map<string, Values>, { id, owner, kind, detail }: Change): string[] {
  const before = state.get(owner)
  const verb = kind.split('.')[1] ?? ''
  if (verb === 'lost' || verb === 'restored') {
    state.set(owner, { needs_login: verb === 'lost' })
    return []
  }
  if (verb === 'new') {
    state.set(owner, detail)
    return before && !owner.startsWith('training_info')
      ? [`change ${id} tells of ${owner} as new a second time`]
      : []
  }
  if (!before) return [`change ${id}, ${kind}, comes before ${owner} is new`]
  if (verb === 'changed') {
    const pairs = Object.entries(detail) as Array<[string, [unknown, unknown]]>
    state.set(owner, { ...before, ...Object.fromEntries(pairs.map(([name, [, now]]) => [name, now])) })
    return pairs
      .filter(([name, [was]]) => !isDeepStrictEqual(before[name], was))
      .map(([name]) => `change ${id} of ${owner} tells another value of ${name} than the changes before it`)
  }
  state.set(owner, { ...before, ...(verb === 'back' ? { absent_since: null } : detail) })
  return []
}
