import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/core/store/store.ts'
import { exportAll } from '../../src/features/export/export-all.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { withConnection } from '../kit/connect.ts'
import { queryDuckDb } from '../kit/duckdb.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForAll, openForTest } from '../kit/open-for.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { answerAll } from './cookbook/answer.ts'
import { parseFileRecipes, parseRecipes, withRecipes } from './cookbook/recipes.ts'
import { MIRRORING_MS, openMirroredHistory } from './mirrored-history.ts'

const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const markdown = await read('docs/cookbook.md')
const recipes = parseRecipes(markdown)

let database: TestDatabase
let answers: string[]
beforeAll(async () => {
  database = await openMirroredHistory()
  answers = await answerAll(
    database.url,
    recipes.map(({ sql }) => sql),
  )
}, MIRRORING_MS)
afterAll(() => database?.close())

// What psql and assistants answer: test/features/mcp/cookbook.test.ts.
describe('the cookbook', () => {
  it('has thirty-four numbered, different questions, generated from those in the code', () => {
    const numbers = [...markdown.matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(Array.from({ length: 34 }, (_, index) => index + 1))
    expect(new Set(recipes.map(({ question }) => question)).size).toBe(34)
    expect(markdown).toMatch(/^# Cookbook\n\nThirty-four questions /)
    const written = withRecipes(
      markdown,
      COOKBOOK,
      recipes.map(({ answer }) => answer),
    )
    expect(written, 'docs/cookbook.md is out of date; run: npm run docs').toBe(markdown)
    expect(new Set(COOKBOOK.map(({ name }) => name)).size).toBe(COOKBOOK.length)
  })

  it.each(recipes.map((recipe, index) => ({ ...recipe, index })))(
    'answers: $question',
    ({ answer, index }) => {
      expect(answers[index], 'docs/cookbook.md is out of date; run: npm run docs').toBe(answer)
      expect(answer).not.toContain('(0 rows)')
    },
  )

  it('has no character special in double quotes of a shell, the day of the rider, and existing names', async () => {
    expect(recipes.filter(({ sql }) => /["$`\\!]/.test(sql))).toEqual([])
    const ofServer = /\bnow\(|current_(date|time)|localtime/i
    expect(recipes.filter(({ sql }) => ofServer.test(sql))).toEqual([])
    const known = `${await read('docs/schema.md')} ${markdown.match(/```[\s\S]*?```/g)?.join(' ')}`
    const words = recipes.flatMap(({ reading }) =>
      [...reading.matchAll(/`([a-z0-9_]+)`/g)].map(([, word]) => word),
    )
    expect(words.length).toBeGreaterThan(20)
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(known))).toEqual([])
  })

  it('has no question that fails on the first day, when nothing is mirrored', async () => {
    const empty = await openForTest(openTestDatabase())
    const questions = recipes.map(({ sql }) => sql)
    expect(await answerAll(empty.url, questions)).toHaveLength(34)
  })
})

describe('of the exported files, DuckDB', () => {
  const { setup, recipes: queries } = parseFileRecipes(markdown)
  const folder = openForAll(() => openTempDir('cookbook-files'))
  beforeAll(async () => {
    const store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
    try {
      await exportAll({ store, log: makeSilentLog() }, { dir: join(folder.path, 'history'), kind: 'by_hand' })
    } finally {
      await store.close()
    }
  })

  it.each(queries)('answers question $number with the numbers of Postgres', async ({ number, sql }) => {
    const here = setup.replaceAll("'history/", `'${folder.path}/history/`)
    const found = await queryDuckDb(`${here}${sql}`)
    const held = await askAfter('select', number)
    const dayInUtc = (date: Date) => date.toISOString().slice(0, 10)
    expect(found.map((row) => comparable(row, dayInUtc))).toEqual(held.map((row) => comparable(row, day)))
    expect(found).not.toEqual([])
  })

  it('has five questions, each of those of the cookbook', () => {
    expect(queries.map(({ number }) => number)).toEqual([5, 13, 14, 15, 16])
    for (const { number } of queries)
      expect(markdown).toContain(`\n### ${number}. ${recipes[number - 1]?.question}\n`)
  })
})

/** A row with its numbers as numbers and its days as text; the two databases type both differently. */
function comparable(row: Record<string, unknown>, dayOf: (date: Date) => string): Record<string, unknown> {
  const plain = (value: unknown) => {
    if (value instanceof Date) return dayOf(value)
    const isNumber = typeof value === 'bigint' || (typeof value === 'string' && /^-?[\d.]+$/.test(value))
    return isNumber ? Number(value) : value
  }
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))
}

it('of a history with something amiss, the cookbook reads the steps of an unlisted workout from its file', async () => {
  const seconds = (rows: Record<string, unknown>[]) =>
    rows.reduce((sum, row) => sum + Number(row.times) * (Number(row.seconds) + Number(row.rest_seconds)), 0)
  const number = 1 + COOKBOOK.findIndex(({ name }) => name === 'workout_today')
  const resolved = await askAfter('select', number)
  const steps = await askAfter('delete from training.workout_sets', number)
  expect(steps.length).toBeGreaterThan(resolved.length)
  expect(Math.abs(seconds(steps) - seconds(resolved))).toBeLessThan(steps.length)
  expect(steps[0]).toMatchObject({ position: 0, name: 'from the file', watts: resolved[0]?.watts })
})

/** Asks a question by its number after a change of the history, which is then taken back. */
const askAfter = (change: string, number: number) =>
  withConnection(database.url, async (client) => {
    await client.query(`begin; ${change}`)
    return (await client.query<Record<string, unknown>>(recipes[number - 1]?.sql ?? '')).rows
  })

const day = (value: unknown) => (value as Date).toLocaleDateString('sv')

it('the queries of the README work, have rows, and give the printed answers', async () => {
  const readme = await read('README.md')
  const queries = [...readme.matchAll(/musette sql "([^"]+)"(?:\n\n((?: {4}.+\n)+))?/g)]
  expect(queries).not.toEqual([])
  for (const [, sql = '', printed] of queries) {
    const [answer] = await answerAll(database.url, [sql])
    expect(answer, sql).not.toContain('(0 rows)')
    if (printed !== undefined) expect(printed.replace(/^ {4}/gm, '').trim()).toBe(answer)
  }
  expect(queries.filter(([, , printed]) => printed !== undefined)).toHaveLength(1)
})
