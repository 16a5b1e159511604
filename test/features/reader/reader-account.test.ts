import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../../src/core/store/migrate.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { renewReaders } from '../../../src/features/reader/reader.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { fillAccounts, MARK } from '../../core/store/accounts-scene.ts'
import { readConfig } from '../../kit/config.ts'
import { connect } from '../../kit/connect.ts'
import { writeLaterMigrations } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const log = makeSilentLog()
const ACCOUNTS = 8
const mine = `coach_${randomBytes(4).toString('hex')}`
const wide = `wide_${randomBytes(4).toString('hex')}`

describe('a reader limited to one account', () => {
  const database = openForAll(openTestDatabase)
  let url: string
  const run = (...args: string[]) => runVerb(['reader', ...args], { env: { DATABASE_URL: database.url } })
  const rows = (text: string) => queryOnce(database.url, text)
  beforeAll(async () => {
    await fillAccounts(database.url, ACCOUNTS - 1)
    const made = await run(mine, '--account', 'mine')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('the rows of account "mine"') })
    url = made.stdout.trim()
  })
  afterAll(async () => {
    for (const name of [mine, wide]) await rows(`drop role if exists ${name}`)
  })

  const nameOfDatabase = () => new URL(database.url).pathname.slice(1)
  const relations = async () => {
    const kinds = `relnamespace = 'training'::regnamespace and relkind in ('r', 'p', 'v')`
    return (await rows(`select relname as name from pg_class where ${kinds} order by 1`)).map(
      ({ name }) => `${name}`,
    )
  }
  const expectNothingOfOthers = (before = '') =>
    withClient({ connectionString: url }, async (client) => {
      if (before) await client.query(before)
      for (const name of [...(await relations()), ...(await calls())]) {
        const found = await client.query(`select (t.*)::text as text from training.${name} t`).then(
          ({ rows }) => JSON.stringify(rows),
          (error: Error) => {
            // A failure is allowed only after a `before` statement, which some queries refuse.
            if (!before) throw error
            return error.message
          },
        )
        expect(found, name).not.toContain(MARK)
      }
    })
  /** Returns calls of every function that reads activities: of one activity, and of all accounts. */
  const calls = async () => [
    `form_on('2027-01-01')`,
    ...(
      await rows(
        `select format('%I(%s)', p.proname, a.activity_id) as call from pg_proc p cross join training.activities a
         where p.pronamespace = 'training'::regnamespace and p.proargnames[1] = 'activity' order by 1`,
      )
    ).map(({ call }) => `${call}`),
  ]
  it('sees only its own rows in every table and view, and the identity of its database', async () => {
    for (const [query, found] of [
      ['select name from activities', { name: 'mine-ride' }],
      ['select power from samples', { power: 100 }],
      ['select power from fit_records', { power: 100 }],
      ['select power from ride_records', { power: 100 }],
      ['select mean_power from ride_measures', { mean_power: 100 }],
      ['select message from fit_messages', { message: 'mine' }],
      ['select name from accounts', { name: 'mine' }],
      ['select distinct account from daily_load', { account: 'mine' }],
    ] as const)
      expect([query, await queryOnce(url, query)]).toEqual([query, [found]])
    const identity = 'select identity, line from training.database'
    expect(await queryOnce(url, identity)).toEqual(await rows(identity))
    expect((await relations()).length).toBeGreaterThan(35)
    expect((await calls()).filter((call) => /^(?:gpx|tcx|track|geojson)\(/.test(call))).toHaveLength(
      4 * ACCOUNTS,
    )
    expect(
      JSON.stringify(await queryOnce(url, 'select training.gpx(activity_id) from activities')),
    ).toContain('mine-ride')
    expect(await rows(`select from training.activities where name ~ '${MARK}'`)).toHaveLength(ACCOUNTS - 1)
    await expectNothingOfOthers()
    for (const statement of [
      'set role musette_one_account',
      'set row_security = off',
      `select set_config('role', 'musette_one_account', false)`,
    ])
      await expectNothingOfOthers(statement)
  })

  it('cannot become a reader of all accounts, another login or an owner', async () => {
    const [owner] = await rows('select current_user as name')
    for (const statement of [
      ...['musette_reader', String(owner?.name), 'pg_read_all_data'].map((role) => `set role ${role}`),
      `set session authorization ${owner?.name}`,
      'select * from musette.credentials',
    ])
      await expect(queryOnce(url, statement), statement).rejects.toThrow(/permission denied/)
  })

  it('gets a new password only by a command with the account, and no more rights', async () => {
    const held = expect.stringContaining(`reader ${mine} --account`)
    expect(await run(mine)).toMatchObject({ code: 2, stdout: '', stderr: held })
    const renewed = await run(mine, '--account', 'mine')
    expect(renewed.code).toBe(0)
    expect(renewed.stdout.trim()).not.toBe(url)
    url = renewed.stdout.trim()
    expect(await queryOnce(url, 'select name from accounts')).toEqual([{ name: 'mine' }])
    const rights = `select has_database_privilege(current_database(), 'temporary') as temporary,
      has_language_privilege('plpgsql', 'usage') as blocks, has_function_privilege('pg_advisory_lock(bigint)', 'execute') as locks`
    const none = [{ temporary: false, blocks: false, locks: false }]
    expect(await queryOnce(url, rights)).toEqual(none)
    // The command revokes rights that an earlier version or a person granted.
    await rows(
      `grant temporary on database ${nameOfDatabase()} to musette_one_account; grant usage on language plpgsql to ${mine}`,
    )
    url = (await run(mine, '--account', 'mine')).stdout.trim()
    expect(await queryOnce(url, rights)).toEqual(none)
    const nobody = expect.stringContaining('there is no account "nobody"')
    expect(await run('x', '--account', 'nobody')).toMatchObject({ code: 3, stderr: nobody })
    expect(await run('musette_account_1_1')).toMatchObject({ code: 2 })
  })

  it('gets its settings back when the daemon starts', async () => {
    // A session keeps the settings of its login from when it began.
    const anew = async (text: string) =>
      (await withClient({ connectionString: url }, (client) => client.query(text))).rows
    const settings = `select setting from pg_settings where name in ('statement_timeout', 'work_mem', 'search_path') order by name`
    const before = await anew(settings)
    await anew(
      `begin read write; alter role current_user set statement_timeout = 0; alter role current_user set work_mem = '1GB';
       alter role current_user in database ${nameOfDatabase()} set search_path = pg_catalog; commit`,
    )
    expect(await anew(settings)).not.toEqual(before)
    const config = readConfig({ DATABASE_URL: database.url })
    const store = openStore({ log }, { connectionString: database.url })
    onTestFinished(() => store.close())
    await renewReaders({ store, log, config })
    expect(await anew(settings)).toEqual(before)
    expect(await queryOnce(url, 'select name from accounts')).toEqual([{ name: 'mine' }])
  })

  it('can be created during writes of the daemon, without a deadlock', async () => {
    const writer = await connect(database.url)
    onTestFinished(() => writer.end())
    await writer.query(
      'begin; lock table training.accounts in row share mode; update training.activities set name = name; delete from training.samples',
    )
    const { code, stdout, stderr } = await run(mine, '--account', 'mine')
    expect(code, stderr).toBe(0)
    url = stdout.trim()
    expect(await queryOnce(url, 'select name from activities')).toEqual([{ name: 'mine-ride' }])
  })

  it('can be made from a reader of all accounts, without a change for other readers', async () => {
    const all = await run(wide)
    const count = 'select count(*)::int as n from activities'
    expect(await queryOnce(all.stdout.trim(), count)).toEqual([{ n: ACCOUNTS }])
    expect(await rows('select count(*)::int as n from training.activities')).toEqual([{ n: ACCOUNTS }])
    const held = await run(wide, '--account', MARK)
    expect(await queryOnce(held.stdout.trim(), 'select name from activities')).toEqual([
      { name: `${MARK}-ride` },
    ])
  })

  it('sees no more after a migration adds and replaces tables and views', async () => {
    const folder = await openTempDir('later')
    const [view] = await rows(`select pg_get_viewdef('training.daily_load'::regclass) as text`)
    await writeLaterMigrations(folder.path, {
      '9999_later': [
        'CREATE TABLE training.later (account_id integer NOT NULL, note text)',
        `INSERT INTO training.later SELECT account_id, name FROM training.accounts`,
        'CREATE VIEW training.later_view AS SELECT * FROM training.later',
        `CREATE OR REPLACE VIEW training.daily_load AS ${String(view?.text).replace(/;\s*$/, '')}`,
      ],
    })
    onTestFinished(() => folder.close())
    await rows(
      'create table training.notes as select name from training.accounts; create view training.noted as table training.notes',
    )
    await migrate({ connectionString: database.url, log, folder: folder.path })
    for (const name of ['notes', 'noted'])
      await expect(queryOnce(url, `table ${name}`)).rejects.toThrow(/permission denied/)
    await rows('drop table training.notes cascade')
    expect(await queryOnce(url, 'select note from later_view')).toEqual([{ note: 'mine' }])
    await expectNothingOfOthers()
  })
})
