import { type EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { makeQueuePool, migrateQueueTables } from '../../../src/core/jobs/backend.ts'
import { openChangeListener } from '../../../src/core/store/feed/change-listener.ts'
import { withMigrationLock } from '../../../src/core/store/migrate.ts'
import { errorCode } from '../../../src/kit/errors.ts'
import { endPool, makePool, PostgresClient, withClient } from '../../../src/kit/postgres-client.ts'
import { readSettings } from '../../kit/config.ts'
import { END_CONNECTIONS, queryOnce } from '../../kit/postgres.ts'
import { openTestStore, quiet, rowsOf } from './open.ts'

const SETTINGS = `select current_setting('jit') as jit, current_setting('search_path') as path`

test('every connection turns JIT off and searches only its own schemas', async () => {
  const { store, url } = await openTestStore()
  // As on a server whose owner has turned JIT on and set a search path for all.
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
})

test('server timeouts end neither our work nor a wait for changes', async () => {
  const { store, url } = await openTestStore()
  const names = [
    'statement_timeout',
    'transaction_timeout',
    'idle_in_transaction_session_timeout',
    'idle_session_timeout',
  ]
  await queryOnce(
    url,
    `do $$ declare name text; begin
       foreach name in array '{${names}}'::text[] loop
         if current_setting(name, true) is not null then execute format('alter database %I set %I = %L', current_database(), name, '50ms'); end if;
       end loop; end $$`,
  )
  const limits = `select string_agg(setting, ' ') as limits from (select setting from pg_settings where name = any ('{${names}}') order by name) s`
  const slow = 'select pg_sleep(0.1)'
  // A slow client may be idle for that long between the start of its session and its query.
  const neverIdle = new URL(url)
  neverIdle.searchParams.set('options', '-c idle_session_timeout=0')
  expect(await queryOnce(neverIdle.href, slow).catch(({ code }) => code)).toMatch(/^(57014|25P04)$/)
  expect(await rowsOf(store, limits)).toMatchObject([{ limits: expect.stringMatching(/^300000 0 0( 0)?$/) }])
  const inMigration = withMigrationLock({ connectionString: url, log: quiet }, (client) =>
    client.query(limits),
  )
  expect((await inMigration).rows).toMatchObject([{ limits: expect.stringMatching(/^0 0 0( 0)?$/) }])
  await migrateQueueTables(url)
  const queue = makeQueuePool(url)
  onTestFinished(() => queue.end())
  await queue.query(slow)
  const listener = openChangeListener({ log: quiet }, { connectionString: url, channel: 'musette_changes' })
  onTestFinished(() => listener.close())
  const never = new AbortController().signal
  await listener.wait(0, never)
  const waited = listener.wait(20_000, never)
  await queryOnce(url, slow).catch(() => undefined)
  await queryOnce(url, slow).catch(() => undefined)
  await queryOnce(url, 'notify musette_changes')
  const startedAt = performance.now()
  await waited
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

test('a connection that the server closes does not crash the process', async () => {
  const { url: connectionString } = await openTestStore()
  const thrown: unknown[] = []
  // An error thrown here would be an uncaught exception.
  const catchThrown = (emitter: EventEmitter) => {
    const emit = emitter.emit.bind(emitter)
    emitter.emit = (event: string | symbol, ...values: unknown[]) => {
      try {
        return emit(event, ...values)
      } catch (error) {
        return thrown.push(error) === 0
      }
    }
  }
  const gone = (emitter: EventEmitter, event: string) =>
    new Promise((resolve) => emitter.once(event, resolve))
  const alone = new PostgresClient({ connectionString })
  const bare = new PostgresClient({ connectionString })
  const pool = makePool({ connectionString, max: 2 })
  onTestFinished(() => endPool(pool))
  await Promise.all([alone.connect(), bare.connect()])
  bare.removeAllListeners()
  const inTransaction = await pool.connect()
  await inTransaction.query('begin')
  await pool.query('select 1')
  for (const emitter of [alone, bare, inTransaction, pool]) catchThrown(emitter)
  const ended = [alone, bare, inTransaction].map((client) => gone(client, 'end'))
  const removed = gone(pool, 'remove')
  await queryOnce(connectionString, END_CONNECTIONS)
  await Promise.all([...ended, removed])
  await expect(inTransaction.query('commit')).rejects.toThrow()
  inTransaction.release(true)
  expect(thrown).toEqual([])
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('hosts are tried in order, and every connection uses the first that fits', async () => {
  const { url } = await openTestStore()
  const { host, port, username, password, pathname } = new URL(url)
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port: silentPort } = silent.address() as AddressInfo
  const text = `postgres://${username}:${password}@127.0.0.1:1,127.0.0.1:${silentPort},${host}${pathname}`
  const { config } = readSettings({ DATABASE_URL: `${text}?target_session_attrs=read-write` })
  const connectionString = config.databaseUrl ?? ''
  const pool = makePool({ connectionString, connectionTimeoutMillis: 6_000, max: 2 })
  onTestFinished(() => endPool(pool))
  const found = await Promise.all(
    [1, 2].map(() => pool.query('select inet_server_port() as port, pg_sleep(0.05)')),
  )
  expect(found.map(({ rows }) => String(rows[0].port))).toEqual([port, port])
  for (const [attribute, code] of [
    ['primary', undefined],
    ['any', undefined],
    ['standby', 'database_unfit'],
    ['read-only', 'database_unfit'],
  ]) {
    const each = new URL(url)
    each.searchParams.set('target_session_attrs', attribute ?? '')
    const failed = withClient({ connectionString: each.href }, (client) => client.query('')).then(
      () => undefined,
      errorCode,
    )
    expect(await failed).toBe(code)
  }
  // As in psql, a refused login is final, because another host may be another server.
  const refused = new URL(connectionString)
  refused.searchParams.set('host', '127.0.0.1,127.0.0.1')
  refused.searchParams.set('port', `${port},1`)
  refused.password = 'wrong'
  await expect(
    withClient({ connectionString: refused.href }, (client) => client.query('')),
  ).rejects.toMatchObject({ code: '28P01' })
})
