import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { COOKBOOK } from '../../../src/features/mcp/cookbook/cookbook.ts'
import { collectResults, openQueries } from '../../../src/features/sql/raw-query.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { mirrorHistory } from '../../docs/cookbook/history.ts'
import { MIRRORING_MS, openMirroredHistory } from '../../docs/mirrored-history.ts'
import { connect } from '../../kit/connect.ts'
import { makeSilentLog } from '../../kit/log.ts'
import type { TestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { dropAssistantLogins } from './guarded/rig.ts'
import { callTool, connectClient } from './rig.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openMirroredHistory()
}, MIRRORING_MS)
afterAll(async () => {
  if (database) await dropAssistantLogins(database.url)
  await database?.close()
})

/** Each table whose rows a question ranks, and the values in which the copy of a row differs from the row. */
const TWINS = [
  [
    'activities',
    `jsonb_build_object('activity_id', o.activity_id + 100000, 'path', o.path || '2', 'tl_ftp', o.tl_ftp + 9, 'rl_ftp', o.rl_ftp + 9,
       'sig_ftp', o.sig_ftp + 9, 'max_power', o.max_power + 9, 'avg_power', o.avg_power + 9, 'xss', o.xss + 9)`,
  ],
  ['activity_intensity', `jsonb_build_object('activity_id', o.activity_id + 100000)`],
  [
    'ride_measures',
    `jsonb_build_object('activity_id', o.activity_id + 100000, 'best_1_min_after_1000_kj', o.best_1_min_after_1000_kj + 9)`,
  ],
  [
    'uploads',
    `jsonb_build_object('activity_id', o.activity_id + 100000, 'content_id', o.content_id || '2', 'file_name', 'another.fit')`,
  ],
  ['fit_files', `jsonb_build_object('file_id', o.file_id + 100000, 'content_id', o.content_id || '2')`],
  ['fit_laps', `jsonb_build_object('content_id', o.content_id || '2', 'avg_power', 7)`],
] as const
const BACKWARDS: Record<string, string> = {
  uploads: 'content_id desc',
  fit_files: 'file_id desc',
  fit_laps: 'content_id desc, position desc',
  training_info: 'observed_at desc',
}

/** Converts numeric texts to numbers, so that they compare by value. */
function comparable(value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  return value === 't' || value === 'f' ? value === 't' : value
}

describe('each question of the cookbook', () => {
  it('is a prompt whose query gives the same answer as musette sql', async () => {
    const client = await connectClient('http', database.url)
    const queries = await openQueries({ connectionString: database.url, write: false })
    onTestFinished(() => queries.close())
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ title }) => title)).toEqual(COOKBOOK.map(({ question }) => question))
    for (const { name, sql, question } of COOKBOOK) {
      const { messages } = await client.getPrompt({ name })
      expect(messages[0]?.content).toMatchObject({ type: 'text', text: expect.stringContaining(sql) })
      const { data } = await callTool(client, 'run_query', { sql, max_rows: 1_000 })
      const { rows, left_out } = data as unknown as { rows: unknown[][]; left_out: string | null }
      const [expected] = await collectResults(queries, sql)
      expect([rows.map((row) => row.map(comparable)), left_out], question).toEqual([
        expected?.rows.map((row) => row.map(comparable)),
        null,
      ])
      expect(rows.length, question).toBeGreaterThan(0)
    }
  }, 120_000)

  it('has the same answer in any order of rows, even with equal rides', async () => {
    const client = await connect(database.url)
    onTestFinished(() => client.end())
    const answerAll = async () => {
      const answers: Record<string, unknown>[][] = []
      for (const { sql } of COOKBOOK) answers.push((await client.query(sql)).rows)
      return answers
    }
    await client.query('begin')
    for (const [table, values] of TWINS)
      await client.query(
        `insert into training.${table} overriding system value
         select (jsonb_populate_record(o, ${values})).* from training.${table} o`,
      )
    await client.query(
      `insert into training.samples
       select (jsonb_populate_record(o, jsonb_build_object('activity_id', o.activity_id + 100000, 'power', o.power + 9))).*
       from training.samples o join training.activities a using (activity_id) where a.name in ('Long Saturday', 'Hill repeats')`,
    )
    // Postgres refuses CLUSTER while foreign key checks are pending.
    await client.query('set constraints all immediate')
    const answers = await answerAll()
    for (const table of [...TWINS.map(([name]) => name), 'training_info']) {
      const order = BACKWARDS[table] ?? 'activity_id desc'
      await client.query(`create index backwards on training.${table} (${order})`)
      await client.query(`cluster training.${table} using backwards; drop index training.backwards`)
    }
    await client.query(`select set_config(name, 'off', true) from pg_settings
      where name in ('enable_indexscan', 'enable_indexonlyscan', 'enable_hashagg', 'enable_hashjoin', 'enable_incremental_sort')`)
    const others = await answerAll()
    for (const [index, { question }] of COOKBOOK.entries()) {
      expect(answers[index], question).not.toEqual([])
      expect(others[index], question).toEqual(answers[index])
    }
  }, 120_000)
})

/** The cookbook's rider, and a rider with another history whose rides have the same names, paths and starts. */
const ACCOUNTS = ['default', 'partner']

/** Runs all questions in a mirror of both accounts or, with `only`, in a mirror of just that account. */
const askAll = (questions: readonly string[], only?: string) =>
  withClient({ connectionString: database.url }, async (client) => {
    await client.query('begin')
    if (only !== undefined) await client.query('delete from training.accounts where name <> $1', [only])
    const answers: Record<string, unknown>[][] = []
    for (const sql of questions) answers.push((await client.query(sql)).rows)
    return answers
  })

describe('in a mirror of two accounts,', () => {
  beforeAll(async () => {
    const folder = await openTempDir('two-accounts')
    const place = { databaseUrl: database.url, dataDir: folder.path }
    await mirrorHistory(makeSilentLog(), place, { account: 'partner', seed: 7, activities: 20 })
    await folder.close()
  }, MIRRORING_MS)

  it('each question of the cookbook answers each account as if it were the only account', async () => {
    const questions = COOKBOOK.map(({ sql }) => sql)
    const together = await askAll(questions)
    for (const account of ACCOUNTS) {
      const alone = await askAll(questions, account)
      for (const [index, { question }] of COOKBOOK.entries()) {
        expect(alone[index], question).not.toEqual([])
        const own = together[index]?.filter((row) => row.account === account)
        expect(own, question).toEqual(alone[index])
      }
    }
    for (const [index, { question }] of COOKBOOK.entries()) {
      expect([...new Set(together[index]?.map((row) => row.account))], question).toEqual(ACCOUNTS)
    }
  }, 120_000)

  it('each query of the README names the account of each row', async () => {
    const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8')
    const queries = [...readme.matchAll(/musette sql "([^"]+)"/g)].map(([, sql = '']) => sql)
    expect(queries).not.toEqual([])
    for (const [index, rows] of (await askAll(queries)).entries()) {
      expect(new Set(rows.map((row) => row.account)), queries[index]).toEqual(new Set(ACCOUNTS))
    }
  })

  it('each tool names the account of each row and answers as for that account alone', async () => {
    const client = await connectClient('http', database.url)
    const { tools } = await client.listTools()
    const ofAccounts = tools.filter(
      ({ name, inputSchema }) => name !== 'get_activity' && inputSchema.properties?.account,
    )
    expect(ofAccounts.length).toBeGreaterThan(3)
    for (const { name } of ofAccounts) {
      const input = name === 'find_activities' ? { from: '2025-06-20' } : {}
      const { data: all } = await callTool(client, name, input)
      for (const account of ACCOUNTS) {
        const { data: one } = await callTool(client, name, { ...input, account })
        for (const [list, rows] of Object.entries(all as Record<string, unknown>)) {
          if (!Array.isArray(rows) || (list === 'changes' && all.left_out)) continue
          const own = rows.filter((row) => row.account === account)
          expect(own, `${name} ${list}`).toEqual(one[list])
          expect(own.length, `${name} ${list}`).toBeGreaterThan(0)
        }
      }
    }
  }, 60_000)

  it('get_activity asks for the account if several accounts have the activity', async () => {
    const client = await connectClient('http', database.url)
    const text = 'The accounts default, partner have an activity with that key; name one as account.'
    const ask = (more: object) => callTool(client, 'get_activity', { activity: 'june20250628', ...more })
    expect(await ask({})).toMatchObject({ isError: true, text })
    for (const account of ACCOUNTS)
      expect((await ask({ account })).data.activity).toMatchObject({ account, name: 'Long Saturday' })
  })
})
