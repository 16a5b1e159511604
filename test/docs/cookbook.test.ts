import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerAll } from '../../config/cookbook/answer.ts'
import { parseRecipes, withAnswers } from '../../config/cookbook/recipes.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../support/postgres.ts'
import { MIRRORING_MS, openMirroredHistory } from './mirrored-history.ts'

const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const markdown = await read('docs/cookbook.md')
const recipes = parseRecipes(markdown)

let database: TestDatabase

beforeAll(async () => {
  database = await openMirroredHistory()
}, MIRRORING_MS)

afterAll(() => database?.close())

describe('the cookbook', () => {
  it('has twenty questions, numbered and each asked once', () => {
    const numbers = [...markdown.matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    expect(new Set(recipes.map(({ question }) => question)).size).toBe(20)
  })

  it.each(recipes)('answers: $question', async ({ sql, answer }) => {
    const [found] = await answerAll(database.url, [sql])
    expect(found, 'docs/cookbook.md is out of date; run: npm run docs').toBe(answer)
    expect(answer).not.toContain('(0 rows)')
  })

  it('asks nothing that depends on a search path, so that psql understands it, too', async () => {
    for (const { question, sql } of recipes) {
      expect(await queryOnce(database.url, sql), question).not.toEqual([])
    }
  })

  it('asks in words that a shell leaves alone between double quotes', () => {
    expect(recipes.filter(({ sql }) => /["$`\\!]/.test(sql))).toEqual([])
  })

  it('takes the present day from training.today: the clock of the database knows no time zone of the rider', () => {
    const asking = recipes.filter(({ sql }) => /\bnow\(|current_(date|time)|localtime/i.test(sql))
    expect(asking).toEqual([])
  })

  it('has no question that fails on the first day, when nothing is mirrored', async () => {
    const empty = await openTestDatabase()
    try {
      const answers = await answerAll(
        empty.url,
        recipes.map(({ sql }) => sql),
      )
      expect(answers).toHaveLength(20)
    } finally {
      await empty.close()
    }
  })

  it('speaks of columns, tables and values that exist', async () => {
    const known = `${await read('docs/schema.md')} ${markdown.match(/```[\s\S]*?```/g)?.join(' ')}`
    const words = recipes.flatMap(({ reading }) =>
      [...reading.matchAll(/`([a-z0-9_]+)`/g)].map(([, word]) => word),
    )
    expect(words.length).toBeGreaterThan(20)
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(known))).toEqual([])
  })
})

describe('the queries of the README', () => {
  it('are understood, and have rows', async () => {
    const queries = [...(await read('README.md')).matchAll(/musette sql "([^"]+)"/g)].map(
      ([, sql]) => sql ?? '',
    )
    expect(queries).not.toEqual([])
    for (const [index, answer] of (await answerAll(database.url, queries)).entries()) {
      expect(answer, queries[index]).not.toContain('(0 rows)')
    }
  })
})

describe('the document', () => {
  const section = '## 1. Why?\n\n```sql\nselect 1 as one\n```\n\n```text\nold\n```\n\nRead `one`.\n'

  it('takes new answers in the place of the old ones and keeps the rest', () => {
    const written = withAnswers(`# Top\n\n${section}`, ['one\n───\n  1'])
    expect(written).toBe(`# Top\n\n${section.replace('old', 'one\n───\n  1')}`)
    expect(parseRecipes(written)).toEqual([
      { question: 'Why?', sql: 'select 1 as one', answer: 'one\n───\n  1', reading: 'Read `one`.' },
    ])
  })

  it.each([
    ['a query', section.replace('```sql', '```')],
    ['an answer', section.replace('```text', '```')],
    ['a number', section.replace('1. ', '')],
  ])('is refused when a question lacks %s', (_, broken) => {
    expect(() => parseRecipes(broken)).toThrow('not a heading, a query, an answer')
  })
})
