import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKBOOK } from '../../../src/features/mcp/cookbook/cookbook.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { mirrorHistory } from '../../docs/cookbook/history.ts'
import { MIRRORING_MS, openMirroredHistory } from '../../docs/mirrored-history.ts'
import { makeSilentLog } from '../../kit/log.ts'
import type { TestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { dropAssistantLogins } from './guarded/rig.ts'
import { callTool, connectClient } from './rig.ts'

/** The rider of the cookbook, and one of another history with rides of the same names, paths and starts. */
const ACCOUNTS = ['default', 'partner']

let database: TestDatabase
beforeAll(async () => {
  database = await openMirroredHistory()
  const folder = await openTempDir('two-accounts')
  const place = { databaseUrl: database.url, dataDir: folder.path }
  await mirrorHistory(makeSilentLog(), place, { account: 'partner', seed: 7, activities: 20 })
  await folder.close()
}, MIRRORING_MS)
afterAll(async () => {
  if (database) await dropAssistantLogins(database.url)
  await database?.close()
})

/** Asks all of a mirror of both accounts, or of one that has only the account of that name. */
const askAll = (questions: readonly string[], only?: string) =>
  withClient({ connectionString: database.url }, async (client) => {
    await client.query('begin')
    if (only !== undefined) await client.query('delete from training.accounts where name <> $1', [only])
    const answers: Record<string, unknown>[][] = []
    for (const sql of questions) answers.push((await client.query(sql)).rows)
    return answers
  })

const QUESTIONS = COOKBOOK.map(({ sql }) => sql)

describe('in a mirror of two accounts', () => {
  it('each question of the cookbook gives for each account the answer of a mirror of that account alone', async () => {
    const together = await askAll(QUESTIONS)
    for (const account of ACCOUNTS) {
      const alone = await askAll(QUESTIONS, account)
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

  it('each answer of a tool names the account, and equals the answer for that account alone', async () => {
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

  it('the tool for one activity asks for the account when several have that activity', async () => {
    const client = await connectClient('http', database.url)
    const text = 'The accounts default, partner have an activity of that key; name one as account.'
    const ask = (more: object) => callTool(client, 'get_activity', { activity: 'june20250628', ...more })
    expect(await ask({})).toMatchObject({ isError: true, text })
    for (const account of ACCOUNTS)
      expect((await ask({ account })).data.activity).toMatchObject({ account, name: 'Long Saturday' })
  })
})
