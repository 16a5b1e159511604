import { expect, onTestFinished, test } from 'vitest'
import { queryApp } from '../../src/app/open-database.ts'
import { makeQueuePool, migrateQueueTables } from '../../src/jobs/backend.ts'
import { withMigrationLock } from '../../src/store/migrate.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openReaderLogin } from '../kit/reader-login.ts'
import { openTestReader } from './guarded/rig.ts'
import { openTestStore, quiet, rowsOf } from './open.ts'

const SETTINGS = `select current_setting('jit') as jit, current_setting('search_path') as path`

test('every connection of ours is without JIT and looks for names in no schema in which others may create', async () => {
  const { store, url } = await openTestStore()
  // As on a server of one's own, whose owner also has a path for all.
  await queryOnce(
    url,
    `do $$ begin execute format('alter database %I set jit = on', current_database());
    execute format('alter database %I set search_path = public', current_database()); end $$`,
  )
  expect(await rowsOf(store, SETTINGS)).toEqual([{ jit: 'off', path: 'pg_catalog, pg_temp' }])
  const inMigration = withMigrationLock({ connectionString: url, log: quiet }, (client) =>
    client.query(SETTINGS),
  )
  expect((await inMigration).rows).toEqual([{ jit: 'off', path: 'pg_catalog, pg_temp' }])
  await migrateQueueTables(url)
  const queue = makeQueuePool(url)
  onTestFinished(() => queue.end())
  expect((await queue.query(SETTINGS)).rows).toEqual([{ jit: 'off', path: 'pg_catalog, bullmq' }])
  const [typed] = await queryApp({ databaseUrl: url }, SETTINGS)
  expect(typed?.rows).toEqual([['off', 'training']])
  expect((await openTestReader(url).read({ text: SETTINGS })).rows).toEqual([['off', 'training']])
})

test('a login for analysts has the JIT of its server, since their queries may run for minutes', async () => {
  const login = await openReaderLogin()
  const { url } = await login.make()
  const [ours] = await queryOnce(login.url, `select current_setting('jit') as jit`)
  expect(await queryOnce(url, SETTINGS)).toEqual([{ ...ours, path: 'training' }])
})
