import { spawn, spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCsvPrinter, tableOf } from '../../src/cli/sql-formats.ts'

import { collectResults, openQueries, type Queries } from '../../src/store/query/raw-query.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { generatedSelect, narrowSelect } from './generated-selects.ts'

const SEED = 20_250_701
const SELECTS = 2_500
const TABLES = 300
const END = '-- end of the answer --'

const hasPsql = spawnSync('psql', ['--version']).status === 0
if (!hasPsql) {
  const sentence = 'psql is not installed; run: apt-get install postgresql-client'
  if (process.env.CI) throw new Error(sentence)
  process.stderr.write(`musette tests: ${sentence} (the tests that compare with it do not run)\n`)
}

describe.runIf(hasPsql)('musette sql beside psql', () => {
  let database: TestDatabase
  let queries: Queries
  beforeAll(async () => {
    database = await openTestDatabase({ migrated: false })
    queries = await openQueries({ connectionString: database.url, write: false })
  })
  afterAll(async () => {
    await queries?.close()
    await database?.close()
  })

  it(`writes the same CSV to the byte for thousands of selects (seed ${SEED})`, async () => {
    const selects = fc.sample(generatedSelect, { seed: SEED, numRuns: SELECTS })
    const theirs = await askPsql(database.url, ['--csv'], selects)
    for (const [index, select] of selects.entries()) {
      expect(await csvOf(queries, select), select).toBe(theirs[index])
    }
  })

  it(`gives a cell the same text, width and side for a sample of them (seed ${SEED})`, async () => {
    const selects = fc.sample(narrowSelect, { seed: SEED, numRuns: TABLES })
    const theirs = await askPsql(database.url, ['--pset=footer=off', '--pset=linestyle=ascii'], selects)
    for (const [index, select] of selects.entries()) {
      const [result] = await collectResults(queries, select)
      const lines = result ? tableOf(result).split('\n').slice(2, -1) : []
      // A cell of psql stands between a space and a bar.
      const cells = theirs[index]?.trimEnd().split('\n').slice(2)
      expect(
        lines.map((line) => line.replace(/ {2}end$/, '')),
        select,
      ).toEqual(cells?.map((line) => line.replace(/ \| end$/, '').slice(1)))
    }
  })
})

async function csvOf(queries: Queries, select: string): Promise<string> {
  const printer = makeCsvPrinter()
  let text = ''
  for await (const part of queries.run(select)) {
    if (part.kind === 'fields') text += printer.begin(part.fields)
    if (part.kind === 'rows') text += printer.rows(part.rows)
  }
  return text
}

/** Runs all selects in one process of psql and returns what it prints for each. */
async function askPsql(
  url: string,
  options: readonly string[],
  selects: readonly string[],
): Promise<string[]> {
  const known = new URL(url)
  // psql knows it from version 16.
  known.searchParams.delete('require_auth')
  const child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...options, known.href], {
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', PGTZ: 'UTC', PGCLIENTENCODING: 'UTF8' },
  })
  const chunks: Buffer[] = []
  const complaints: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
  // A complaint ends psql before it has read all; it is told below.
  child.stdin.on('error', () => undefined)
  child.stdin.end(selects.map((select) => `${select};\n\\echo '${END}'\n`).join(''))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, Buffer.concat(complaints).toString('utf8')).toBe(0)
  return Buffer.concat(chunks).toString('utf8').split(`${END}\n`).slice(0, -1)
}
