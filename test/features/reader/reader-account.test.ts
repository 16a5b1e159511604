import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../../../src/core/store/migrate.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { COOKBOOK } from '../../../src/features/mcp/cookbook/cookbook.ts'
import { renewReaders } from '../../../src/features/reader/reader.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { readDashboards } from '../../grafana/dashboards.ts'
import { expandQuery } from '../../grafana/expand.ts'
import { readConfig } from '../../kit/config.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { eventually } from '../../kit/eventually.ts'
import { writeLaterMigrations } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce, type TestDatabase, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { dropAssistantLogins } from '../mcp/guarded/rig.ts'
import { callTool, connectClient } from '../mcp/rig.ts'

/** Stands in each row of the other accounts that has a text. */
const MARK = 'of-somebody-else'
const ACCOUNTS = 100
/** The account that is held to, one other by this name, and many more. */
const NAMES = ['mine', MARK, ...Array.from({ length: ACCOUNTS - 2 }, (_, n) => `${MARK}-${n}`)]
const mine = `coach_${randomBytes(4).toString('hex')}`
const wide = `wide_${randomBytes(4).toString('hex')}`

describe('a reader that is held to one account', () => {
  let database: TestDatabase
  let url: string
  const run = (...args: string[]) => runVerb(['reader', ...args], { env: { DATABASE_URL: database.url } })
  const rows = (text: string) => queryOnce(database.url, text)
  beforeAll(async () => {
    database = await openTestDatabase()
    await queryOnce(
      database.url,
      `with a as (insert into training.accounts (name, base_url, needs_login) select name, 'http://127.0.0.1:9', false from unnest($1::text[]) name
         returning account_id, name),
       n as (select *, array_position($1::text[], name) - 1 as index from a),
       v as (insert into training.activities (account_id, path, name, listed_at, wanted_at, started_at, started_at_local, sample_count,
           elapsed_s, distance, avg_power, xss, total_grams_carbs, breakthrough)
         select account_id, name || '-path', name || '-ride', now(), now(), '2026-05-01'::date + index, '2026-05-01'::date + index, 1,
           7200, 60, index + 100, 90, 300, 1 from n returning *),
       s as (insert into training.samples (activity_id, t, power) select activity_id, started_at, avg_power from v),
       r as (insert into training.raw_documents (activity_id, fetched_at, sha256, encoding, body)
         select activity_id, now(), n.name, 'gzip', 'x' from v join n using (account_id)),
       u as (insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, state, activity_id)
         select account_id, n.name, n.name || '.fit', 1, now(), 'mirrored', activity_id from v join n using (account_id)),
       f as (insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at, reader_version)
         select account_id, name, 1, 1, 1, '{}', now(), 2 from n returning file_id, account_id),
       fr as (insert into training.fit_records (file_id, position, t, power) select file_id, 1, now(), index + 100 from f join n using (account_id)),
       fm as (insert into training.fit_messages (file_id, position, record, message, fields) select file_id, 1, 1, name, '{}' from f join n using (account_id)),
       m as (insert into training.ride_measures (activity_id, account_id, mean_power, mean_hr, work_kj, best_1_min_after_1000_kj)
         select activity_id, account_id, avg_power, 140, 1500, 250 from v),
       w as (insert into training.workouts (account_id, path, name) select account_id, name, name from n)
       insert into training.sync_runs (account_id, resource, kind, error) select account_id, 'activities', 'poll', name from n`,
      [NAMES],
    )
    const made = await run(mine, '--account', 'mine')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('the rows of account "mine"') })
    url = made.stdout.trim()
  })
  afterAll(async () => {
    if (database) await dropAssistantLogins(database.url)
    for (const name of [mine, wide]) await rows(`drop role if exists ${name}`)
    await database?.close()
  })

  const relations = async () =>
    (
      await rows(
        `select c.relname as name from pg_class c where relnamespace = 'training'::regnamespace and relkind in ('r', 'p', 'v') order by 1`,
      )
    ).map(({ name }) => String(name))
  const expectNothingOfOthers = async (before = '') => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      if (before) await client.query(before)
      for (const name of await relations()) {
        const read = client.query<{ text: string }>(`select t::text as text from training.${name} t`)
        const found = await read.then(
          ({ rows }) => rows.map(({ text }) => text).join('\n'),
          (error: Error) => error.message,
        )
        expect(found, name).not.toContain(MARK)
      }
    } finally {
      await client.end()
    }
  }

  it('sees its rows in each table and view, and none of another account', async () => {
    expect(await queryOnce(url, 'select name from activities')).toEqual([{ name: 'mine-ride' }])
    for (const table of ['samples', 'fit_records', 'ride_records'])
      expect(await queryOnce(url, `select power from ${table}`), table).toEqual([{ power: 100 }])
    expect(await queryOnce(url, 'select mean_power from ride_measures')).toEqual([{ mean_power: 100 }])
    expect(await queryOnce(url, 'select message from fit_messages')).toEqual([{ message: 'mine' }])
    expect(await queryOnce(url, 'select name from accounts')).toEqual([{ name: 'mine' }])
    expect(
      await queryOnce(url, 'select account, count(*)::int as n from daily_load group by 1'),
    ).toMatchObject([{ account: 'mine' }])
    expect((await relations()).length).toBeGreaterThan(35)
    const [others] = await rows(`select count(*)::int as n from training.activities where name ~ '${MARK}'`)
    expect(others).toEqual({ n: ACCOUNTS - 1 })
    await expectNothingOfOthers()
  })

  it.each([
    'set role musette_one_account',
    'set row_security = off',
    `select set_config('role', 'musette_one_account', false)`,
  ])('sees no more after: %s', (statement) => expectNothingOfOthers(statement))

  it('gets nothing of another account from the cookbook, which answers the owner for all', async () => {
    const accountsOf = (found: Record<string, unknown>[]) => new Set(found.map(({ account }) => account))
    let answered = 0
    for (const { sql, question } of COOKBOOK) {
      const found = await queryOnce(url, sql)
      expect(
        [...accountsOf(found)].filter((account) => account !== 'mine'),
        question,
      ).toEqual([])
      expect(JSON.stringify(found), question).not.toContain(MARK)
      if (found.length > 0) answered++
    }
    expect(answered).toBeGreaterThan(3)
    const longest = COOKBOOK.find(({ name }) => name === 'longest_rides')
    expect(accountsOf(await rows(longest?.sql ?? '')).size).toBe(ACCOUNTS)
  })

  it('gets nothing of another account from a panel or a variable of Grafana', async () => {
    const range = { from: new Date('2026-01-01'), to: new Date('2027-01-01') }
    const [chosen] = await rows(
      `select account_id::text as account, activity_id::text as activity from training.activities where name = '${MARK}-ride'`,
    )
    for (const { panels, templating } of await readDashboards()) {
      const queries = [
        ...templating.list.map(({ query }) => query),
        ...panels.flatMap(({ targets }) => targets.map(({ rawSql }) => rawSql)),
      ]
      for (const query of queries) {
        const sql = expandQuery(query, {
          variables: { ...(chosen as Record<string, string>), sport: 'cycling' },
          range,
        })
        const found = await queryOnce(url, sql)
        if (query.includes('from training.accounts order')) expect(found).toMatchObject([{ __text: 'mine' }])
        // The choice of all sports is a row for every login.
        else
          expect(
            JSON.stringify(found.filter((row) => hasValue(row) && row.__value !== 'all sports')),
            query,
          ).toBe('[]')
      }
    }
  })

  it('equals a server of assistants that is limited to one account', async () => {
    const client = await connectClient('http', database.url, { account: 'mine' })
    const inputs = {
      ...{ find_activities: {}, what_is_here: {}, state_today: {}, power_bests: {}, recent_changes: {} },
      get_activity: { activity: 'mine-path' },
      run_query: { sql: 'select * from training.activities' },
    }
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(inputs).sort())
    for (const [name, input] of Object.entries(inputs)) {
      const { text, isError } = await callTool(client, name, input)
      expect(isError, name).toBe(false)
      expect(text, name).not.toContain(MARK)
    }
    expect((await callTool(client, 'find_activities', {})).data.matching).toBe(1)
    expect((await callTool(client, 'get_activity', { activity: `${MARK}-path` })).isError).toBe(true)
  })

  it('equals its own part of an export of all accounts', async () => {
    const folder = await openTempDir('of-100-accounts')
    const store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
    try {
      await exportAll({ store, log: makeSilentLog() }, { dir: folder.path, kind: 'by_hand' })
      const read = (table: string, account: string) =>
        queryDuckDb(
          `select to_json(whole)::varchar as text from read_parquet('${folder.path}/${table}/account=${account}/**/*.parquet') whole`,
        )
      const tables = 'activities samples ride_measures uploads fit_files fit_records fit_messages workouts'
      for (const table of tables.split(' ')) {
        const found = await read(table, 'mine')
        expect(found.length, table).toBe(1)
        expect(found[0]?.text, table).not.toContain(MARK)
        expect((await read(table, '*')).length, table).toBe(ACCOUNTS)
      }
    } finally {
      await store.close()
      await folder.close()
    }
  })

  it('sees the identity of its database, so that it notices a restore', async () => {
    const [database] = await rows('select identity, line from training.database')
    expect(await queryOnce(url, 'select identity, line from database')).toEqual([database])
  })

  it('cannot become a reader of all, another login or an owner', async () => {
    const [owner] = await rows('select current_user as name')
    for (const role of ['musette_reader', String(owner?.name), 'pg_read_all_data'])
      await expect(queryOnce(url, `set role ${role}`)).rejects.toThrow(/permission denied/)
    await expect(queryOnce(url, `set session authorization ${owner?.name}`)).rejects.toThrow(
      /permission denied/,
    )
    await expect(queryOnce(url, `select * from musette.credentials`)).rejects.toThrow(/permission denied/)
  })

  it('gets a new password by the same command, and no more rights without the account', async () => {
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
    // Rights that an earlier version gave, or somebody by mistake, are taken back.
    await rows(
      `grant temporary on database ${new URL(database.url).pathname.slice(1)} to musette_one_account; grant usage on language plpgsql to ${mine}`,
    )
    url = (await run(mine, '--account', 'mine')).stdout.trim()
    expect(await queryOnce(url, rights)).toEqual(none)
    const nobody = expect.stringContaining('there is no account "nobody"')
    expect(await run('x', '--account', 'nobody')).toMatchObject({ code: 3, stderr: nobody })
    expect(await run('musette_account_1_1')).toMatchObject({ code: 2 })
  })

  it('gets its settings back at the start of a daemon', async () => {
    // A session has those that were set when it began.
    const anew = async (text: string) =>
      (await withClient({ connectionString: url }, (client) => client.query(text))).rows
    const settings = `select setting from pg_settings where name in ('statement_timeout', 'work_mem', 'search_path') order by name`
    const before = await anew(settings)
    await anew(
      `begin read write; alter role current_user set statement_timeout = 0; alter role current_user set work_mem = '1GB';
       alter role current_user in database ${new URL(database.url).pathname.slice(1)} set search_path = pg_catalog; commit`,
    )
    expect(await anew(settings)).not.toEqual(before)
    const store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
    try {
      await renewReaders({ store, log: makeSilentLog(), config: readConfig({ DATABASE_URL: database.url }) })
    } finally {
      await store.close()
    }
    expect(await anew(settings)).toEqual(before)
    expect(await queryOnce(url, 'select name from accounts')).toEqual([{ name: 'mine' }])
  })

  it('is created during writes of a daemon, without a deadlock', async () => {
    await rows(
      `alter table training.activities disable row level security; drop policy musette_account on training.activities;
       alter table training.samples disable row level security; drop policy musette_account on training.samples`,
    )
    const writer = new pg.Client({ connectionString: database.url })
    await writer.connect()
    try {
      for (const [first, second] of [
        ['activities', 'samples'],
        ['samples', 'activities'],
      ]) {
        await writer.query(`begin; lock table training.${first} in row exclusive mode`)
        const made = run(mine, '--account', 'mine')
        await eventually(async () => (await rows(WAITING_FOR_LOCK)).length > 0, { what: 'it waits' })
        await writer.query(`lock table training.${second} in row exclusive mode; commit`)
        const { code, stdout, stderr } = await made
        expect(code, stderr).toBe(0)
        url = stdout.trim()
        await rows(
          `alter table training.activities disable row level security; alter table training.samples disable row level security`,
        )
      }
    } finally {
      await writer.end()
    }
    url = (await run(mine, '--account', 'mine')).stdout.trim()
    expect(await queryOnce(url, 'select name from activities')).toEqual([{ name: 'mine-ride' }])
  })

  it('can be made from one that read all, without a change for others', async () => {
    const all = await run(wide)
    const count = 'select count(*)::int as n from activities'
    expect(await queryOnce(all.stdout.trim(), count)).toEqual([{ n: ACCOUNTS }])
    expect(await rows('select count(*)::int as n from training.activities')).toEqual([{ n: ACCOUNTS }])
    const held = await run(wide, '--account', MARK)
    expect(await queryOnce(held.stdout.trim(), 'select name from activities')).toEqual([
      { name: `${MARK}-ride` },
    ])
  })

  it('sees no more after a migration with new and replaced tables and views', async () => {
    const folder = await openTempDir('later')
    const [view] = await rows(`select pg_get_viewdef('training.daily_load'::regclass) as text`)
    await writeLaterMigrations(folder.path, {
      '9999_later': [
        'CREATE TABLE training.later (account_id integer NOT NULL, note text)',
        `INSERT INTO training.later SELECT account_id, name FROM training.accounts`,
        'CREATE VIEW training.later_view AS SELECT * FROM training.later',
        'GRANT SELECT ON training.later, training.later_view TO musette_reader, musette_one_account',
        `CREATE OR REPLACE VIEW training.daily_load AS ${String(view?.text).replace(/;\s*$/, '')}`,
      ],
    })
    try {
      await migrate({ connectionString: database.url, log: makeSilentLog(), folder: folder.path })
    } finally {
      await folder.close()
    }
    expect(await queryOnce(url, 'select note from later_view')).toEqual([{ note: 'mine' }])
    await expectNothingOfOthers()
  })
})

/** Whether a row says anything but zeros: sums of no rows are NULL or 0. */
function hasValue(row: Record<string, unknown>): boolean {
  return Object.values(row).some((value) => value !== null && Number(value) !== 0)
}
