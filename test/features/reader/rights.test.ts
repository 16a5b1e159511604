import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrateQueueTables } from '../../../src/core/jobs/backend.ts'
import type { Tx } from '../../../src/core/store/store.ts'
import { upsertReader } from '../../../src/features/reader/reader.ts'
import { upsertReaderLogin } from '../../../src/program/query/reader-login.ts'
import { openTestStore } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openReaderLogin } from './reader-login.ts'

const FORBIDDEN = expect.objectContaining({ code: '42501' })

/** A connection of the analyst that has set aside the default of reading only: what is left are the rights. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
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

describe('the login of an analyst', () => {
  it('reads every table and view of training without its name, also later ones', async () => {
    const { url, make } = await openReaderLogin()
    const reader = await make()
    await queryOnce(url, 'CREATE VIEW training.later AS SELECT 1 AS x')
    const client = await connect(reader.url)
    const relations = await relationsOf(url, 'training')
    expect(relations).toEqual(expect.arrayContaining(['training.activities', 'training.later']))
    for (const relation of relations) await client.query(`SELECT * FROM ${relation} LIMIT 1`)
    await client.query('SELECT count(*) FROM samples')
  })

  it('can read again after a restored dump had lost the rights', async () => {
    const { url, make } = await openReaderLogin()
    await queryOnce(url, 'DROP OWNED BY musette_reader')
    const client = await connect((await make()).url)
    await queryOnce(url, 'CREATE TABLE training.later (x int)')
    await client.query('SELECT * FROM activities, later')
  })

  it('reads nothing of musette, of the queue or of the server', async () => {
    const { url, make } = await openReaderLogin()
    await migrateQueueTables(url)
    const client = await connect((await make()).url)
    const secret = [...(await relationsOf(url, 'musette')), ...(await relationsOf(url, 'bullmq'))]
    expect(secret.some((name) => name.startsWith('musette.'))).toBe(true)
    expect(secret.some((name) => name.startsWith('bullmq.'))).toBe(true)
    for (const relation of [...secret, 'pg_authid']) {
      await expect(client.query(`SELECT * FROM ${relation} LIMIT 1`), relation).rejects.toEqual(FORBIDDEN)
    }
  })

  it('writes and creates nothing, even in a transaction that may write', async () => {
    const { name, url, make } = await openReaderLogin()
    const reader = await make()
    const client = await connect(reader.url)
    for (const statement of [
      'DELETE FROM activities',
      "UPDATE accounts SET name = 'x'",
      "INSERT INTO drift (endpoint, field, kind) VALUES ('a', 'b', 'c')",
      'TRUNCATE samples',
      'DROP TABLE samples',
      'CREATE TABLE training.mine (x int)',
      'CREATE SCHEMA mine',
      'CREATE ROLE mine',
      `ALTER ROLE ${name} SUPERUSER`,
      'SET ROLE musette',
    ]) {
      await expect(client.query(statement), statement).rejects.toEqual(FORBIDDEN)
    }
    // Before Postgres 15 every login could; then the login is made all the same, and the schema is told.
    const [server] = await queryOnce(
      url,
      "select current_setting('server_version_num')::int >= 150000 as modern",
    )
    expect(reader.writableSchemas).toEqual(server?.modern ? [] : ['public'])
    await queryOnce(url, 'GRANT CREATE ON SCHEMA public TO PUBLIC')
    expect((await make()).writableSchemas).toEqual(['public'])
  })

  it('begins with read-only transactions and time limits', async () => {
    const { make } = await openReaderLogin()
    const settings = `select current_setting('transaction_read_only') as reads, current_setting('search_path') as path,
                      current_setting('statement_timeout') as timeout,
                      current_setting('idle_in_transaction_session_timeout') as idle`
    const limited = await make({ statementTimeoutMs: 90_000 })
    expect(await queryOnce(limited.url, settings)).toEqual([
      { reads: 'on', path: 'training', timeout: '90s', idle: '5min' },
    ])
    expect(await queryOnce((await make()).url, settings)).toMatchObject([{ timeout: '5min' }])
  })

  it('gets a new password when it is made again, which replaces the old one', async () => {
    const { name, make } = await openReaderLogin()
    const first = await make()
    const second = await make()
    expect(second.url).not.toBe(first.url)
    expect(await queryOnce(second.url, 'select current_user as name')).toEqual([{ name }])
    await expect(queryOnce(first.url, 'select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  it('may have a password of any characters, and gets a URL that escapes them', async () => {
    const { name, make } = await openReaderLogin()
    const { url } = await make({ password: 'a/b@c:d%41?#[x]"\'\\' })
    expect(await queryOnce(url, 'select current_user as name')).toEqual([{ name }])
    await expect(make({ password: 'short' })).rejects.toMatchObject({ code: 'bad_reader_password' })
    await expect(make({ password: 'längeres Passwort' })).rejects.toMatchObject({
      code: 'bad_reader_password',
    })
  })

  it('has a password that is in no statement, no log line and no table', async () => {
    const { name, log, url, make } = await openReaderLogin()
    const password = randomBytes(24).toString('hex')
    const statements: string[] = []
    const { store } = await openTestStore()
    await store.transaction(async (tx) => {
      const client = {
        query: (text: string, values?: unknown[]) => {
          statements.push(text)
          return tx.client.query(text, values)
        },
      }
      await upsertReaderLogin({ ...tx, client } as unknown as Tx, {
        name,
        password,
        statementTimeoutMs: undefined,
        wholeServer: false,
      })
    })
    expect(statements.some((text) => text.includes('PASSWORD'))).toBe(true)
    expect(statements.join('\n')).not.toContain(password)
    await make({ password })
    expect(log.text()).not.toContain(password)
    const [kept] = await queryOnce(url, 'select rolpassword from pg_authid where rolname = $1', [name])
    expect(kept?.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/)
  })

  it('does not use the name of a foreign role', async () => {
    const { name, url, make } = await openReaderLogin()
    await queryOnce(url, `CREATE ROLE ${name} LOGIN PASSWORD 'theirs'`)
    await expect(make()).rejects.toMatchObject({
      code: 'reader_name_taken',
      message: expect.stringContaining(`GRANT musette_reader TO "${name}"`),
    })
    const theirs = new URL(url)
    theirs.username = name
    theirs.password = 'theirs'
    expect(await queryOnce(theirs.href, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('is refused where the user may not make logins, with the command to type', async () => {
    const { name, url } = await openReaderLogin()
    await queryOnce(url, `CREATE ROLE ${name} LOGIN PASSWORD 'plain'`)
    await queryOnce(url, `GRANT USAGE ON SCHEMA musette TO ${name}`)
    await queryOnce(url, `GRANT SELECT ON ALL TABLES IN SCHEMA musette TO ${name}`)
    onTestFinished(async () => void (await queryOnce(url, `DROP OWNED BY ${name}`)))
    const plain = new URL(url)
    plain.username = name
    plain.password = 'plain'
    const config = readConfig({ DATABASE_URL: plain.href })
    await expect(upsertReader(config, makeSilentLog(), { name: `${name}_2` })).rejects.toMatchObject({
      code: 'reader_forbidden',
      message: expect.stringContaining('musette reader'),
    })
  })
})
