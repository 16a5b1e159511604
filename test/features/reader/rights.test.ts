import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrateQueueTables } from '../../../src/core/jobs/backend.ts'
import type { Tx } from '../../../src/core/store/store.ts'
import { upsertReader } from '../../../src/features/reader/reader.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { upsertReaderLogin } from '../../../src/program/query/reader-login.ts'
import { openTestStore } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'
import { connect } from '../../kit/connect.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openReaderLogin } from './reader-login.ts'

const FORBIDDEN = expect.objectContaining({ code: '42501' })

/** Opens a connection of the analyst with read-write transactions, so that only rights limit it. */
async function openSession(url: string): Promise<pg.Client> {
  const client = await connect(url)
  onTestFinished(() => client.end())
  await client.query('SET default_transaction_read_only = off')
  return client
}

async function relationsOf(url: string, schema: string): Promise<string[]> {
  const rows = await queryOnce(
    url,
    `select format('%I.%I', $1::text, relname) as name from pg_class
     where relnamespace = to_regnamespace($1) and relkind in ('r', 'v', 'm', 'p')`,
    [schema],
  )
  return rows.map(({ name }) => String(name))
}

const database = openForAll(openTestDatabase)
/** Picks a login name in this file's database. */
const openLogin = () => openReaderLogin({ database: { url: database.url, close: async () => undefined } })

describe('a reading login', () => {
  it('reads every table and view of training, even later ones and after a restore', async () => {
    const { url, make } = await openLogin()
    const client = await openSession((await make()).url)
    await queryOnce(url, 'CREATE VIEW training.later AS SELECT 1 AS x')
    const relations = await relationsOf(url, 'training')
    expect(relations).toEqual(expect.arrayContaining(['training.activities', 'training.later']))
    const readAll = async () => {
      for (const relation of relations) await client.query(`SELECT * FROM ${relation} LIMIT 1`)
      await client.query('SELECT count(*) FROM samples')
    }
    await readAll()
    await queryOnce(url, 'DROP OWNED BY musette_reader')
    await expect(readAll()).rejects.toEqual(FORBIDDEN)
    await make()
    await readAll()
    await queryOnce(url, 'CREATE TABLE training.latest (x int)')
    await client.query('SELECT * FROM latest')
  })

  it('reads nothing of schema musette, the queue or the server', async () => {
    const { url, make } = await openLogin()
    await migrateQueueTables(url)
    const client = await openSession((await make()).url)
    const secret = [await relationsOf(url, 'musette'), await relationsOf(url, 'bullmq')]
    for (const relations of secret) expect(relations).not.toEqual([])
    for (const relation of [...secret.flat(), 'pg_authid'])
      await expect(client.query(`SELECT * FROM ${relation} LIMIT 1`), relation).rejects.toEqual(FORBIDDEN)
  })

  it('writes and creates nothing, even in a read-write transaction', async () => {
    const { name, url, make } = await openLogin()
    const reader = await make()
    const client = await openSession(reader.url)
    for (const statement of [
      'DELETE FROM activities',
      'CREATE TABLE training.mine (x int)',
      'CREATE SCHEMA mine',
      'CREATE ROLE mine',
      `ALTER ROLE ${name} SUPERUSER`,
    ])
      await expect(client.query(statement), statement).rejects.toEqual(FORBIDDEN)
    // Before Postgres 15 every login may create tables in public; musette creates the login and reports the schema.
    const modern = "select current_setting('server_version_num')::int >= 150000 as modern"
    const [server] = await queryOnce(url, modern)
    expect(reader.writableSchemas).toEqual(server?.modern ? [] : ['public'])
    await queryOnce(url, 'GRANT CREATE ON SCHEMA public TO PUBLIC')
    expect((await make()).writableSchemas).toEqual(['public'])
  })

  it('starts read-only with timeouts, and gets a new password when made again', async () => {
    const { name, make } = await openLogin()
    const settings = `select current_user as name, current_setting('transaction_read_only') as reads, current_setting('search_path') as path,
      current_setting('statement_timeout') as timeout, current_setting('idle_in_transaction_session_timeout') as idle`
    const first = await make({ statementTimeoutMs: 90_000 })
    const limits = { name, reads: 'on', path: 'training', timeout: '90s', idle: '5min' }
    expect(await queryOnce(first.url, settings)).toEqual([limits])
    const second = await make({ password: 'a/b@c:d%41?#[x]"\'\\' })
    expect(await queryOnce(second.url, settings)).toEqual([{ ...limits, timeout: '5min' }])
    await expect(withClient({ connectionString: first.url }, async () => {})).rejects.toMatchObject({
      code: '28P01',
    })
    for (const password of ['short', 'längeres Passwort'])
      await expect(make({ password })).rejects.toMatchObject({ code: 'bad_reader_password' })
  })

  it('has a password that is in no statement, log line or table', async () => {
    const { name, log, url, make } = await openLogin()
    const password = randomBytes(24).toString('hex')
    const statements: string[] = []
    const { store } = await openTestStore()
    const login = { name, password, statementTimeoutMs: undefined, wholeServer: false }
    await store.transaction(async (tx) => {
      const query = (text: string, values?: unknown[]) => {
        statements.push(text)
        return tx.client.query(text, values)
      }
      await upsertReaderLogin({ ...tx, client: { query } } as unknown as Tx, login)
    })
    expect(statements.some((text) => text.includes('PASSWORD'))).toBe(true)
    expect(statements.join('\n')).not.toContain(password)
    await make({ password })
    expect(log.text()).not.toContain(password)
    const [kept] = await queryOnce(url, 'select rolpassword from pg_authid where rolname = $1', [name])
    expect(kept?.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/)
  })

  it('is not made from a foreign role or by a user that may not create logins', async () => {
    const { name, url, make } = await openLogin()
    await queryOnce(
      url,
      `CREATE ROLE ${name} LOGIN PASSWORD 'theirs'; GRANT USAGE ON SCHEMA musette TO ${name};
       GRANT SELECT ON ALL TABLES IN SCHEMA musette TO ${name}`,
    )
    onTestFinished(async () => void (await queryOnce(url, `DROP OWNED BY ${name}`)))
    const grant = expect.stringContaining(`GRANT musette_reader TO "${name}"`)
    await expect(make()).rejects.toMatchObject({ code: 'reader_name_taken', message: grant })
    const theirs = new URL(url)
    theirs.username = name
    theirs.password = 'theirs'
    const config = readConfig({ DATABASE_URL: theirs.href })
    const made = upsertReader(config, makeSilentLog(), { name: `${name}_2` })
    const command = expect.stringContaining('musette reader')
    await expect(made).rejects.toMatchObject({ code: 'reader_forbidden', message: command })
  })
})
