import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { sqlstateOf } from '../../../src/core/store/database-errors.ts'
import { accounts, syncRuns } from '../../../src/core/store/schema/index.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { openForTest } from '../../kit/open-for.ts'
import { errorOf } from '../service/open-test-service.ts'
import { openAccount } from './detail.ts'
import { backendPidOf, openTestStore, quiet, terminate } from './open.ts'

const SECRET = 'token-that-must-not-be-seen'

test('an error of the store contains no parameters at any depth', async () => {
  const { store, sql, accountId } = await openAccount()
  const twice = [1, 2].map(() => ({ name: SECRET, baseUrl: SECRET }))
  const run = { accountId, resource: SECRET, kind: 'poll', outcome: SECRET as 'done' } as const
  for (const work of [
    () => store.transaction((tx) => tx.db.insert(accounts).values(twice)),
    () => sql`SELECT ${SECRET}::text::int`,
    () => store.transaction((tx) => tx.db.insert(syncRuns).values(run)),
  ]) {
    const error = await errorOf(work())
    expect(error.code).toBe('database_error')
    expect(sqlstateOf(error)).toMatch(/^2/)
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(SECRET)
  }
})

test('a connection error during a query contains no parameters', async () => {
  const { store, url, sql } = await openTestStore()
  const error = await errorOf(
    store.transaction(async (tx) => {
      await terminate(url, await backendPidOf(tx.client))
      await tx.db.update(accounts).set({ lastError: SECRET })
    }),
  )
  expect(error).toMatchObject({ name: 'TransientError', code: 'database_unreachable' })
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(SECRET)
  expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
})

test('a failed connection has the error code of its cause', async () => {
  const { url } = await openTestStore()
  const nobody = new URL(url)
  nobody.pathname = '/no_such_database'
  const cases: Array<[string, string, string]> = [
    ['postgres://127.0.0.1:1/x', 'TransientError', 'database_unreachable'],
    ['postgres://no-such-host.invalid/x', 'TransientError', 'database_unreachable'],
    ['postgres://a:b@:::::/x', 'ConfigError', 'database_url_invalid'],
    [nobody.href, 'ConfigError', 'database_login_refused'],
  ]
  for (const [connectionString, name, code] of cases) {
    const store = await openForTest(openStore({ log: quiet }, { connectionString }))
    expect(await errorOf(store.read(async () => 1))).toMatchObject({ name, code })
  }
})

test('a transaction with an ignored failed query does not commit', async () => {
  const { store, sql } = await openTestStore()
  const error = await errorOf(
    store.transaction(async (tx) => {
      await tx.db.insert(accounts).values({ name: 'lost', baseUrl: 'x' })
      await tx.client.query('SELECT 1/0').catch(() => undefined)
    }),
  )
  expect(error.code).toBe('transaction_rolled_back')
  expect(await sql`SELECT * FROM training.accounts`).toEqual([])
})

test('a deadlock is reported as a busy database', async () => {
  const { sql } = await openTestStore()
  const error = await errorOf(sql`do $$ begin raise exception using errcode = '40P01'; end $$`)
  expect(error).toMatchObject({ name: 'TransientError', code: 'database_busy' })
  expect(sqlstateOf(error)).toBe('40P01')
})

test.each([
  ['role', ''],
  ['role in this database', 'IN DATABASE'],
])('a login made read-only by its %s is a wrong setting, not an outage', async (_, where) => {
  const { store, url } = await openTestStore()
  const name = new URL(url).pathname.slice(1)
  const role = `read_only_${name}`
  await store.execute(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'x'`)
  const place = where && `${where} ${name}`
  await store.execute(`ALTER ROLE ${role} ${place} SET default_transaction_read_only = on`)
  const theirs = new URL(url)
  Object.assign(theirs, { username: role, password: 'x' })
  const later = openStore({ log: quiet }, { connectionString: theirs.href, maxConnections: 1 })
  const error = await errorOf(later.transaction((tx) => tx.db.update(accounts).set({ lastError: null })))
  expect(error).toMatchObject({ name: 'ConfigError', code: 'database_role_read_only' })
  expect(error.message).not.toContain('at the moment')
  expect(await later.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  await later.close()
  await store.execute(`DROP ROLE ${role}`)
})

test('a database that accepts no writes now is an outage, not a defect', async () => {
  const { store, url } = await openTestStore()
  const database = new URL(url).pathname.slice(1)
  await store.execute(`ALTER DATABASE ${database} SET default_transaction_read_only = on`)
  const later = await openForTest(openStore({ log: quiet }, { connectionString: url, maxConnections: 1 }))
  const error = await errorOf(later.transaction((tx) => tx.db.update(accounts).set({ lastError: null })))
  expect(error).toMatchObject({ name: 'TransientError', code: 'database_read_only' })
  expect(error.message).toContain('the database accepts no writes at the moment')
})
