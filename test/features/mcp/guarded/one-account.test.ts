import { randomBytes } from 'node:crypto'
import type { Client as McpClient } from '@modelcontextprotocol/client'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../../../../src/core/store/migrate.ts'
import { makePartitions } from '../../../../src/core/store/samples/partitions.ts'
import { openStore } from '../../../../src/core/store/store.ts'
import { upsertReader } from '../../../../src/features/reader/reader.ts'
import { fillAccounts, MARK } from '../../../core/store/accounts-scene.ts'
import { readConfig } from '../../../kit/config.ts'
import { connect } from '../../../kit/connect.ts'
import { makeSilentLog } from '../../../kit/log.ts'
import { openOtherPostgres } from '../../../kit/other-postgres.ts'
import { openTestDatabase, queryOnce } from '../../../kit/postgres.ts'
import { sample } from '../../../kit/sampling.ts'
import { callTool, connectHttp, connectStdio, openMcpWeb, TOKEN } from '../rig.ts'
import { dropAssistantLogins } from './rig.ts'

const log = makeSilentLog()
const ROLES = ['musette_reader', 'musette_one_account', 'pg_read_all_data', 'none']

/** Expressions that show the rows of a training table, some through functions that run their own query. */
const readsOf = (table: string) => [
  `table_to_xml('training.${table}', true, false, '')::text`,
  `query_to_xml('select * from training.${table}', true, false, '')::text`,
  `(select string_agg(word, ' ') from ts_stat('select to_tsvector(''simple'', name) from training.${table}'))`,
  `ts_rewrite('a'::tsquery, 'select ''a''::tsquery, to_tsquery(''simple'', quote_literal(name)) from training.${table} where name like ''${MARK}%''')::text`,
  `(select string_agg(name, ' ') from training.${table})`,
  `(select row_to_json(a)::text from training.${table} a where name like '${MARK}%' limit 1)`,
]

/** Statements that would show the other account if access depended on the current role, the plan or the owner of a view. */
const STATEMENTS = [
  `with a as materialized (select set_config('role', 'musette_reader', true) r) select r, schema_to_xml('training', true, false, '')::text from a`,
  ...ROLES.flatMap((role) =>
    ['accounts', 'activities'].flatMap((table) =>
      readsOf(table).map(
        (read) =>
          `with a as materialized (select set_config('role', '${role}', true) r) select a.r, ${read} from a`,
      ),
    ),
  ),
  ...['row_security', 'session_authorization', 'search_path', 'session_replication_role'].map(
    (name) =>
      `with a as materialized (select set_config('${name}', 'off', true) r) select a.r, string_agg(name, ' ') from a, training.activities group by 1`,
  ),
  `do $$ begin perform set_config('role', 'musette_reader', true); raise exception '%', (select string_agg(name, ',') from training.accounts); end $$`,
  `do $$ begin set local role musette_reader; raise notice '%', (select string_agg(name, ' ') from training.accounts); end $$`,
  "select * from pg_stats where tablename in ('accounts', 'activities')",
  'select histogram_bounds::text, most_common_vals::text from pg_stats',
  'select most_common_vals, most_common_base_freqs from pg_stats_ext',
  `select name from training.activities where activity_id > 1 / (case when name like '${MARK}%' then 0 else 1 end)`,
  `select name::int from training.activities where name like '${MARK}%'`,
  'select * from training.activities where others.leak(name) and activity_id > 0',
  `select '${MARK}' from training.samples where power > 100 limit 1`,
  `select '${MARK}' from training.fit_records where power > 100 limit 1`,
  `select '${MARK}' from musette.samples_0 where power > 100 limit 1`,
  'copy (select * from training.activities) to stdout',
  'copy training.activities to stdout',
  'select name from others.activities',
  'select * from others.names()',
  'select name from training.activities tablesample system (100)',
  'select name from only training.activities',
  'table training.changes',
]
/** Statements for sessions only: with their own transactions or planner settings. */
const OF_SESSIONS = [
  ...ROLES.flatMap((role) =>
    readsOf('activities').map((read) => `begin; set local role ${role}; select ${read}; rollback`),
  ),
  'explain (analyze, verbose) select * from training.activities where name is not null',
  'begin; declare c cursor for select * from training.accounts; fetch all from c; rollback',
  'set plan_cache_mode = force_generic_plan; select name from training.activities',
  `set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
   set min_parallel_table_scan_size = 0; select distinct '${MARK}' from training.samples where power > 100`,
]

type Ask = (statement: string) => Promise<string>
type Visitor = { ask: Ask; statements: readonly string[] }

/** Returns everything that a statement shows in a session: rows, errors with details, and notices. */
function asSession(client: pg.Client): Ask {
  return async (statement) => {
    const said: string[] = []
    const hear = ({ message }: { message?: string | undefined }) => said.push(message ?? '')
    client.on('notice', hear)
    const answer = await client.query(statement).then(
      (result) => JSON.stringify([result].flat().map(({ rows, fields }) => [rows, fields.length])),
      (error: pg.DatabaseError) => `${error.message} ${error.detail ?? ''}`,
    )
    await client.query('rollback; reset all')
    client.off('notice', hear)
    return answer + said
  }
}

const asAssistant =
  (client: McpClient): Ask =>
  async (sql) =>
    (await callTool(client, 'run_query', { sql, max_rows: 2_000 })).text

/** Two servers: the database's owner is a superuser on the embedded server, but not on the other. */
const SERVERS = [
  { server: 'the embedded Postgres', open: openTestDatabase },
  {
    server: 'Postgres 15',
    async open() {
      const cluster = await openOtherPostgres(15)
      if (!cluster) return undefined
      await queryOnce(cluster.url, `create role rider login createrole password 'rider'`)
      await queryOnce(cluster.url, 'create database mirror owner rider')
      const admin = Object.assign(new URL(cluster.url), { pathname: '/mirror' }).href
      const url = Object.assign(new URL(admin), { username: 'rider', password: 'rider' }).href
      await migrate({ connectionString: url, log })
      return { url, admin, close: () => cluster.close() }
    },
  },
] as const

describe.each(SERVERS)('a login limited to one account, on $server,', ({ open }) => {
  const tag = randomBytes(4).toString('hex')
  const [held, both, wide, other] = ['held', 'both', 'wide', 'other'].map((name) => `${name}_${tag}`)
  const visitors: Record<string, Visitor> = {}
  const closing: Array<() => Promise<unknown>> = []
  let admin = ''
  let url = ''
  let readerOfAll: Ask
  beforeAll(async () => {
    const database = await open()
    if (!database) return
    closing.push(async () => database.close())
    url = database.url
    admin = 'admin' in database ? database.admin : url
    await fillAccounts(url, 2)
    const store = openStore({ log }, { connectionString: url })
    await makePartitions({ store, log }, { keys: 1 }).keep()
    await store.close()
    const config = readConfig({ DATABASE_URL: url })
    const session = async (name: string, account?: string) => {
      const client = await connect((await upsertReader(config, log, { name, account })).url)
      closing.unshift(() => client.end())
      return asSession(client)
    }
    readerOfAll = await session(`${wide}`)
    const every = [...STATEMENTS, ...OF_SESSIONS]
    visitors.reader = { ask: await session(`${held}`, 'mine'), statements: every }
    visitors['reader in other groups'] = { ask: await session(`${both}`, 'mine'), statements: every }
    await queryOnce(admin, `grant musette_reader, pg_read_all_data to ${both}`)
    // A reader of all accounts shares a view, and functions that run with its rights.
    await queryOnce(
      admin,
      `create role ${other}; grant musette_reader to ${other}; create schema others authorization ${other};
       grant usage on schema others to public; grant usage on language plpgsql to ${other}; grant musette_reader to ${other};
       set role ${other}; create view others.activities as select * from training.activities;
       create function others.names() returns setof text language sql security definer as 'select name from training.activities';
       create function others.leak(text) returns boolean language plpgsql cost 0.0001 as $$ begin raise notice 'saw %', $1; return true; end $$;
       grant select on all tables in schema others to public; reset role`,
    )
    const atEnd = (close: () => Promise<void>) => void closing.unshift(close)
    const web = await openMcpWeb(url, { token: TOKEN, atEnd })
    const assistants = {
      'assistant of mcp --account': await connectStdio({ DATABASE_URL: url }, { account: 'mine', atEnd }),
      'assistant of /mcp?account=': await connectHttp(web.url, { account: 'mine', atEnd }),
    }
    for (const [name, client] of Object.entries(assistants))
      visitors[name] = { ask: asAssistant(client), statements: sample(STATEMENTS, 15) }
  })
  afterAll(async () => {
    if (admin) {
      await dropAssistantLogins(url, admin)
      await queryOnce(admin, `drop owned by ${other}, ${held}, ${both}, ${wide} cascade`)
      await queryOnce(admin, `drop role ${other}, ${held}, ${both}, ${wide}`)
    }
    for (const close of closing) await close()
  })

  beforeEach((context) => {
    if (admin === '') context.skip()
  })

  it.each(['reader', 'reader in other groups', 'assistant of mcp --account', 'assistant of /mcp?account='])(
    'sees only its own account as %s',
    async (name) => {
      const { ask, statements } = visitors[name] as Visitor
      const relations = await queryOnce(
        url,
        `select relname as name from pg_class where relnamespace = 'training'::regnamespace and relkind in ('r', 'p', 'v')`,
      )
      expect(relations.length).toBeGreaterThan(60)
      const all = (select: (name: unknown) => string) =>
        relations.map((row) => select(row.name)).join(' union all ')
      const plain = all(
        (name) => `select (t.*)::text from training.${name} t where (t.*)::text like '%${MARK}%'`,
      )
      expect(await ask(all((name) => `select count(*)::text as found from training.${name}`))).toMatch(
        /\b1\b/,
      )
      const shown: string[] = []
      for (const statement of [...statements, plain]) {
        const answer = (await ask(statement))
          .replaceAll(statement, '')
          .replaceAll(JSON.stringify(statement), '')
        if (answer.includes(MARK)) shown.push(statement)
      }
      expect(shown).toEqual([])
      for (const statement of [
        'select name from training.accounts',
        'select name from training.activities',
        'select account from training.today',
      ])
        expect(await ask(statement), statement).toContain('mine')
      for (const table of ['samples', 'fit_records'])
        expect(await ask(`select 'power ' || power as found from training.${table}`)).toMatch(/power 100/)
    },
  )

  it('does not hide any account from a reader of all accounts', async () => {
    for (const name of ['accounts', 'activities', 'workouts', 'uploads', 'mirror_health'])
      expect(await readerOfAll(`select (t.*)::text from training.${name} t`), name).toContain(MARK)
    expect(
      await readerOfAll('select min(power) || $$ to $$ || max(power) as found from training.samples'),
    ).toContain('100 to 102')
  })
})
