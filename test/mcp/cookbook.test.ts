import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKBOOK } from '../../src/mcp/cookbook/cookbook.ts'
import { collectResults, openQueries } from '../../src/query/raw-query.ts'
import { MIRRORING_MS, openMirroredHistory } from '../docs/mirrored-history.ts'
import type { TestDatabase } from '../kit/postgres.ts'
import { dropAssistantLogins } from '../query/guarded/rig.ts'
import { callTool, connectClient, TRANSPORTS } from './rig.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openMirroredHistory()
}, MIRRORING_MS)
afterAll(async () => {
  if (database) await dropAssistantLogins(database.url)
  await database?.close()
})

type Rows = Array<Array<string | null>>
const SEPARATORS = { field: '\u001f', row: '\u001e' }
const NULL = '<null>'

/** The answer of psql; where it is not installed, that of the driver in the same text form. */
async function findExpected(sql: string): Promise<Rows> {
  const psql = spawnSync(
    'psql',
    [
      database.url.replace(/\?.*/, ''),
      ...['-X', '-A', '-t', '-F', SEPARATORS.field, '-R', SEPARATORS.row, '-P', `null=${NULL}`],
      '-c',
      sql,
    ],
    { encoding: 'utf8', env: { ...process.env, PGTZ: 'UTC' } },
  )
  if (psql.error === undefined && psql.status === 0) {
    const rows = psql.stdout.replace(/\n$/, '').split(SEPARATORS.row)
    return rows.map((row) => row.split(SEPARATORS.field).map((text) => (text === NULL ? null : text)))
  }
  const queries = await openQueries({ connectionString: database.url, write: false })
  try {
    return ((await collectResults(queries, sql))[0]?.rows ?? []) as Rows
  } finally {
    await queries.close()
  }
}

/** Numbers by value, texts as they are. */
function comparable(value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  if (value === 't' || value === 'f') return value === 't'
  return value
}

describe.each(TRANSPORTS)('over %s, each question of the cookbook', (transport) => {
  it('is a prompt whose query has the answer of psql', async () => {
    const client = await connectClient(transport, database.url)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ title }) => title)).toEqual(COOKBOOK.map(({ question }) => question))
    for (const { name, sql, question } of COOKBOOK) {
      const { messages } = await client.getPrompt({ name })
      expect(messages[0]?.content).toMatchObject({ type: 'text', text: expect.stringContaining(sql) })
      const { data } = await callTool(client, 'run_query', { sql, max_rows: 1_000 })
      const { rows, left_out: leftOut } = data as unknown as { rows: unknown[][]; left_out: string | null }
      expect(leftOut, question).toBeNull()
      const expected = await findExpected(sql)
      expect(
        rows.map((row) => row.map(comparable)),
        question,
      ).toEqual(expected.map((row) => row.map(comparable)))
      expect(rows.length, question).toBeGreaterThan(0)
    }
  }, 120_000)
})
