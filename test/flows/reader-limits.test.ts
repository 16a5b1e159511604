import type pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrateQueueTables } from '../../src/core/jobs/backend.ts'
import { migrate } from '../../src/core/store/migrate.ts'
import { upsertReader } from '../../src/features/reader/reader.ts'
import { syncAccount } from '../../src/program/app/sync-account.ts'
import { openUploadRig } from '../core/upload/rig.ts'
import { openReaderLogin } from '../features/reader/reader-login.ts'
import { readConfig } from '../kit/config.ts'
import { connect } from '../kit/connect.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { makeRide } from '../kit/ride.ts'

const FORBIDDEN = expect.objectContaining({ code: '42501' })

async function openSession(url: string): Promise<pg.Client> {
  const client = await connect(url)
  onTestFinished(() => client.end())
  await client.query('SET default_transaction_read_only = off')
  return client
}

/** Makes another user of the server, who is no superuser. */
async function makeUser(url: string, name: string, rights = ''): Promise<string> {
  await queryOnce(url, `CREATE ROLE ${name} LOGIN PASSWORD 'plain' ${rights}`)
  onTestFinished(async () => void (await queryOnce(url, `DROP OWNED BY ${name}; DROP ROLE ${name}`)))
  const own = new URL(url)
  own.username = name
  own.password = 'plain'
  return own.href
}

/** The lock names that musette may hash into keys. */
function keysOf(accountId: number): string[] {
  const words = ['activities', 'uploads', 'training info', 'workout list', 'workout sets', 'workout folder']
  const seconds = ['', `, ${accountId}`, `, hashtext('${accountId}')`, `, hashtext('')`]
  const names = words.flatMap((word) =>
    ['', 'musette ', 'musette.', 'musette listing '].map((of) => of + word),
  )
  return [
    String(0x6d757365),
    ...names.flatMap((name) => seconds.map((second) => `hashtext('${name}')${second}`)),
  ]
}

describe('the login of an analyst', () => {
  it('delays no poll, upload or migration by advisory locks', async () => {
    const rig = await openUploadRig({ activities: 2 })
    const { make, url } = await openReaderLogin({ database: { url: rig.databaseUrl, close: rig.close } })
    const reader = await make()
    await queryOnce(url, 'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO PUBLIC')
    const client = await openSession(reader.url)
    for (const key of keysOf(rig.account.accountId)) await client.query(`SELECT pg_advisory_lock(${key})`)

    expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ fetched: 2, failed: 0 })
    expect(await rig.importFile('ride.fit', makeRide())).toEqual({ action: 'done' })
    await migrate({ connectionString: url, log: makeSilentLog() })
  })

  it('can take no advisory or musette lock and make no temporary table or large object', async () => {
    const { make, url } = await openReaderLogin()
    const reader = await make()
    expect(reader.openRights).toEqual([])
    const client = await openSession(reader.url)
    const locks = await queryOnce(
      url,
      `select format('%I.%I', 'musette', relname) as name from pg_class
       where relnamespace = 'musette'::regnamespace and (relname ~ '^lock_' or relname = 'locks') and relkind in ('r', 'v')`,
    )
    expect(locks.length).toBeGreaterThan(1)
    for (const statement of [
      'SELECT pg_advisory_lock(1)',
      'SELECT pg_try_advisory_xact_lock_shared(1, 2)',
      'SELECT lo_create(0)',
      "SELECT lo_from_bytea(0, 'x')",
      'CREATE TEMP TABLE mine (x int)',
      'SELECT 1 AS x INTO TEMP mine',
      'SELECT FROM activities FOR KEY SHARE',
      'LOCK TABLE activities IN ROW SHARE MODE',
      ...locks.map(({ name }) => `LOCK TABLE ${name} IN ACCESS SHARE MODE`),
    ]) {
      await client.query('BEGIN')
      await expect(client.query(statement), statement).rejects.toEqual(FORBIDDEN)
      await client.query('ROLLBACK')
    }
    const open = await client.query(
      `select proname from pg_proc where proname ~ '^(lo_|loread|lowrite|pg_(try_)?advisory_)'
         and has_function_privilege(oid, 'execute')`,
    )
    expect(open.rows).toEqual([])
  })

  it('has at most ten connections', async () => {
    const { make } = await openReaderLogin()
    const { url } = await make()
    for (let count = 1; count <= 10; count += 1) await openSession(url)
    await expect(queryOnce(url, 'select 1')).rejects.toMatchObject({ code: '53300' })
  })

  it('takes no rights from other users of the database, and the queue works', async () => {
    const { name, make, url } = await openReaderLogin()
    const other = await makeUser(url, `${name}_other`)
    await queryOnce(url, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${name}_other`)
    await migrateQueueTables(other)
    await make()
    const client = await openSession(other)
    await client.query('SELECT pg_advisory_lock(1), lo_create(0)')
    await client.query('CREATE TEMP TABLE mine (x int)')
  })

  it('keeps rights that its creator may not revoke, and these are named', async () => {
    const { name, url } = await openReaderLogin({ migrated: false })
    const database = new URL(url).pathname.slice(1)
    const maker = await makeUser(url, `${name}_maker`, 'CREATEROLE')
    await queryOnce(url, `GRANT CREATE ON DATABASE ${database} TO ${name}_maker`)
    await queryOnce(url, `GRANT musette_reader TO ${name}_maker WITH ADMIN OPTION`)
    await migrate({ connectionString: maker, log: makeSilentLog() })
    const config = readConfig({ DATABASE_URL: maker })
    const make = () => upsertReader(config, makeSilentLog(), { name })
    expect((await make()).openRights).toEqual(['temporary tables', 'advisory locks', 'large objects'])
    await queryOnce(url, `ALTER DATABASE ${database} OWNER TO ${name}_maker`)
    onTestFinished(
      async () => void (await queryOnce(url, `ALTER DATABASE ${database} OWNER TO current_user`)),
    )
    expect((await make()).openRights).toEqual(['advisory locks', 'large objects'])
  })
})
