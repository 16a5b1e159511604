import { expect, onTestFinished, test } from 'vitest'
import { collectResults, openQueries } from '../../src/features/sql/raw-query.ts'
import { openTestStore } from '../core/store/open.ts'
import { openTestReader } from '../features/mcp/guarded/rig.ts'
import { queryOnce } from '../kit/postgres.ts'

const SETTINGS = `select current_setting('jit') as jit, current_setting('search_path') as path`

test('SQL of a person and of an assistant runs without JIT, with schema training as its search path', async () => {
  const { url } = await openTestStore()
  // As on a server of one's own, whose owner also has a path for all.
  await queryOnce(
    url,
    `do $$ begin execute format('alter database %I set jit = on', current_database());
    execute format('alter database %I set search_path = public', current_database()); end $$`,
  )
  const queries = await openQueries({ connectionString: url, write: false })
  onTestFinished(() => queries.close())
  const [typed] = await collectResults(queries, SETTINGS)
  expect(typed?.rows).toEqual([['off', 'training']])
  expect((await openTestReader(url).read({ text: SETTINGS })).rows).toEqual([['off', 'training']])
})
