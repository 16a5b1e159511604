import { randomBytes } from 'node:crypto'
import type { ClientBase } from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/core/store/migrate.ts'
import type { TransientError } from '../../../src/kit/errors.ts'
import { endPool, makePool } from '../../../src/kit/postgres-client.ts'
import { openLocalApp } from '../../../src/program/app/local-app.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { checkDatabase } from '../../../src/program/doctor/check-database.ts'
import { openDoctorContext } from '../../../src/program/doctor/doctor-context.ts'
import { runsWith } from '../../kit/binaries.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openPooler, PGBOUNCER } from '../../kit/pooler.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openRig } from '../mirror/rig.ts'

test.each(['LATIN1', 'SQL_ASCII'])(
  'a database with the encoding %s is refused with a command to create another',
  async (encoding) => {
    const server = inject('postgresUrl')
    const name = `test_${randomBytes(6).toString('hex')}`
    await queryOnce(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`)
    const url = new URL(`/${name}`, server).href
    try {
      await expect(migrate({ connectionString: url, log: makeSilentLog() })).rejects.toMatchObject({
        code: 'database_encoding',
        message: expect.stringMatching(
          new RegExp(`encoding ${encoding},.*createdb --template=template0 --encoding=UTF8`),
        ),
      })
      expect(await queryOnce(url, `select to_regnamespace('musette') as made`)).toEqual([{ made: null }])
    } finally {
      await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`)
    }
  },
)

describe.runIf(runsWith(PGBOUNCER))('PgBouncer in front of the database', () => {
  const openBehind = async (mode: 'session' | 'transaction', size = 20) => {
    const database = await openForTest(openTestDatabase())
    const pooler = await openForTest(openPooler(database.url, mode, size))
    return pooler.url
  }

  test('is refused in transaction mode by migrate, start and doctor with the setting to use', async () => {
    const url = await openBehind('transaction')
    const refused = {
      code: 'database_pooled',
      message: expect.stringContaining('use the address of Postgres itself'),
    }
    const log = makeSilentLog()
    await expect(migrate({ connectionString: url, log })).rejects.toMatchObject(refused)
    const config = readConfig({ DATABASE_URL: url })
    await expect(openLocalApp(config, log, undefined, 'set-up')).rejects.toMatchObject(refused)
    const { context, close } = openDoctorContext({ log }, { config, problems: [], warnings: [] })
    onTestFinished(close)
    expect(await checkDatabase(context)).toMatchObject([
      { state: 'problem', kind: 'configuration', found: refused.message },
    ])
  })

  test('is reported if it has too few connections, with the needed number', async () => {
    const connectionString = await openBehind('session', 2)
    const limits = { connectionTimeoutMillis: 1_000, silentMs: 400 }
    const onConnect = async (client: ClientBase) => void (await client.query('select 1'))
    const pool = makePool({ connectionString, max: 10, ...limits, onConnect })
    pool.on('error', () => undefined)
    onTestFinished(() => endPool(pool))
    const held = [await pool.connect(), await pool.connect()]
    const refusal = pool.connect().then(
      () => expect.unreachable(),
      (error: TransientError) => error,
    )
    // Releases both before any comparison, because the end of the pool waits for them.
    const { code, message } = await refusal.finally(() => {
      for (const client of held) client.release()
    })
    expect({ code, message }).toEqual({
      code: 'database_pool_small',
      message: expect.stringMatching(
        /answers only 2 connections.* needs 10 here.*\(default_pool_size of PgBouncer\)/,
      ),
    })
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  test('works in session mode', async () => {
    const rig = await openForTest(openRig({ activities: 3, databaseUrl: await openBehind('session') }))
    expect(await syncAccount(rig.app, { name: 'default', training: true })).toMatchObject({
      fetched: 3,
      failed: 0,
    })
  })
})
