import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/core/store/store.ts'
import { exportAll } from '../../src/features/export/export-all.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { queryDuckDb } from '../kit/duckdb.ts'
import { makeSilentLog } from '../kit/log.ts'
import { findTouched, type Plan } from '../kit/plan.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../kit/postgres.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { answerAll } from './cookbook/answer.ts'
import { parseFileRecipes, parseRecipes, withRecipes } from './cookbook/recipes.ts'
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
  it('has thirty-two numbered, different questions', () => {
    const numbers = [...markdown.matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(Array.from({ length: 32 }, (_, index) => index + 1))
    expect(new Set(recipes.map(({ question }) => question)).size).toBe(32)
    expect(markdown).toMatch(/^# Cookbook\n\nThirty-two questions /)
  })

  it('is generated from the questions in the code', () => {
    const answers = recipes.map(({ answer }) => answer)
    expect(
      withRecipes(markdown, COOKBOOK, answers),
      'docs/cookbook.md is out of date; run: npm run docs',
    ).toBe(markdown)
    expect(new Set(COOKBOOK.map(({ name }) => name)).size).toBe(COOKBOOK.length)
  })

  it.each(recipes)('answers: $question', async ({ sql, answer }) => {
    const [found] = await answerAll(database.url, [sql])
    expect(found, 'docs/cookbook.md is out of date; run: npm run docs').toBe(answer)
    expect(answer).not.toContain('(0 rows)')
  })

  it('has queries that do not depend on a search path, for psql', async () => {
    for (const { question, sql } of recipes) {
      expect(await queryOnce(database.url, sql), question).not.toEqual([])
    }
  })

  it('has queries without characters special in double quotes of a shell', () => {
    expect(recipes.filter(({ sql }) => /["$`\\!]/.test(sql))).toEqual([])
  })

  it('uses training.today for the present day, which is the one of the rider', () => {
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
      expect(answers).toHaveLength(32)
    } finally {
      await empty.close()
    }
  })

  it('names existing columns, tables and values', async () => {
    const known = `${await read('docs/schema.md')} ${markdown.match(/```[\s\S]*?```/g)?.join(' ')}`
    const words = recipes.flatMap(({ reading }) =>
      [...reading.matchAll(/`([a-z0-9_]+)`/g)].map(([, word]) => word),
    )
    expect(words.length).toBeGreaterThan(20)
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(known))).toEqual([])
  })
})

describe('of the exported files, DuckDB', () => {
  const { setup, recipes: queries } = parseFileRecipes(markdown)
  let folder: TempDir
  beforeAll(async () => {
    folder = await openTempDir('cookbook-files')
    const store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
    try {
      await exportAll({ store, log: makeSilentLog() }, { dir: join(folder.path, 'history'), kind: 'by_hand' })
    } finally {
      await store.close()
    }
  })
  afterAll(() => folder?.close())

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
    for (const { number } of queries) {
      const heading = `## ${number}. ${recipes[number - 1]?.question}\n`
      expect(markdown.split(`#${heading}`)).toHaveLength(2)
    }
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

describe('of a history with something amiss, the cookbook', () => {
  it('shows no form for a week without rides', async () => {
    const rows = await askAfter(
      `update training.activities set absent_since = now() where started_at_local >= '2025-06-16' and started_at_local < '2025-06-30'`,
      2,
    )
    expect(
      rows.map(({ week, activities, form_after: form }) => [day(week), activities, form === null]),
    ).toEqual([
      ['2025-06-23', 0, true],
      ['2025-06-16', 0, true],
      ['2025-06-09', 3, false],
      ['2025-06-02', 3, false],
      ['2025-05-26', expect.any(Number), false],
    ])
  })

  it('handles a missing weight and a season without power', async () => {
    const rows = await askAfter('update training.training_info set weight_kg = 0', 17)
    expect(rows).toMatchObject([{ weight_kg: 0, ftp_w_per_kg: null, best_5_min_w_per_kg: null }])
    const bests = await askAfter('update training.power_curves set watts = 0', 3)
    expect(bests.map(({ change_pct: change }) => change)).toEqual(bests.map(() => null))
  })

  it('reads the steps of an unlisted workout from its file', async () => {
    const seconds = (rows: Record<string, unknown>[]) =>
      rows.reduce((sum, row) => sum + Number(row.times) * (Number(row.seconds) + Number(row.rest_seconds)), 0)
    const resolved = await askAfter('select', 18)
    const steps = await askAfter('delete from training.workout_sets', 18)
    expect(steps.length).toBeGreaterThan(resolved.length)
    expect(Math.abs(seconds(steps) - seconds(resolved))).toBeLessThan(steps.length)
    expect(steps[0]).toMatchObject({ position: 0, name: 'from the file', watts: resolved[0]?.watts })
  })

  it('reads the samples of single rides, and never all of them', async () => {
    const asking = recipes.flatMap(({ sql }, index) =>
      /training\.(ride_)?samples/.test(sql) ? [index + 1] : [],
    )
    expect(asking.length).toBeGreaterThan(1)
    for (const number of asking) {
      const [row] = await askAfter('select', number, 'explain (analyze, timing off, format json) ')
      const [explained] = (row?.['QUERY PLAN'] ?? []) as { Plan: Plan }[]
      const read = findTouched(explained?.Plan).filter(({ table }) => table === 'samples')
      expect(read.length, `question ${number}`).toBeGreaterThan(0)
      expect(
        read.filter(({ whole }) => whole),
        `question ${number}`,
      ).toEqual([])
    }
  })
})

describe('of what sensors recorded, the cookbook', () => {
  type Second = {
    account: string
    minute: number
    temperature: number
    hr: number
    power: number
    right: number
  }
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const numbers = (rows: Record<string, unknown>[]) =>
    rows.map((row) => comparable(row, (date) => date.toLocaleDateString('sv')))
  const rounded = (value: number, digits = 0) => Number(value.toFixed(digits))

  const secondsOf = async () =>
    (await queryOnce(
      database.url,
      `select account, temperature, hr, power, right_power_pct as right,
         floor(extract(epoch from t - min(t) over (partition by activity_id)) / 60)::int as minute
       from training.ride_records where power > 0 and hr > 0`,
    )) as Second[]
  const groups = (seconds: readonly Second[], of: (second: Second) => number) =>
    [...new Set(seconds.map(of))]
      .sort((a, b) => a - b)
      .map((key) => ({ key, seconds: seconds.filter((second) => of(second) === key) }))

  it('has heat and balance as means of the recorded seconds', async () => {
    const seconds = await secondsOf()
    expect(seconds.length).toBeGreaterThan(3_000)
    const heat = groups(seconds, ({ temperature }) => Math.floor(temperature / 5) * 5)
    expect(heat.length).toBeGreaterThan(1)
    expect(numbers(await askAfter('select', 28))).toEqual(
      heat.map(({ key, seconds: of }) => ({
        ...{ account: 'default', from_degrees: key, rides: 1, minutes: Math.floor(of.length / 60) },
        mean_w: rounded(mean(of.map(({ power }) => power))),
        mean_hr: rounded(mean(of.map(({ hr }) => hr))),
        watts_per_beat: rounded(mean(of.map(({ power }) => power)) / mean(of.map(({ hr }) => hr)), 2),
      })),
    )
    const balance = groups(seconds, ({ minute }) => Math.floor(minute / 30) * 30)
    expect(numbers(await askAfter('select', 29))).toEqual(
      balance.map(({ key, seconds: of }) => ({
        ...{ account: 'default', from_minute: key, rides: 1 },
        mean_w: rounded(mean(of.map(({ power }) => power))),
        right_pct: rounded(mean(of.map(({ right }) => right)), 1),
      })),
    )
  })

  it('has the calmest two minutes of the heart, computed from the intervals of the file', async () => {
    const messages = await queryOnce(
      database.url,
      `select extract(epoch from m.t)::float8 as at, m.fields -> 'time' as intervals
       from training.fit_messages m where message = 'hrv' order by position`,
    )
    const beats = messages.flatMap(({ at, intervals }) =>
      (intervals as (number | null)[]).flatMap((interval) =>
        interval !== null && interval >= 0.3 && interval <= 2 ? [{ at: Number(at), interval }] : [],
      ),
    )
    expect(beats.length).toBeGreaterThan(3_000)
    const steps = beats.map((beat, index) => ({
      ...beat,
      change: index === 0 ? Number.NaN : beat.interval - (beats[index - 1]?.interval ?? 0),
    }))
    const stretches = [...new Set(steps.map(({ at }) => Math.floor(at / 120)))].map((key) =>
      steps.filter(({ at }) => Math.floor(at / 120) === key),
    )
    const found = stretches
      .filter((of) => of.length >= 60)
      .map((of) => {
        const near = of.filter(({ change, interval }) => Math.abs(change) < 0.2 * interval)
        return {
          beats: of.length,
          hr: 60 / mean(of.map(({ interval }) => interval)),
          rmssd: 1_000 * Math.sqrt(mean(near.map(({ change }) => change ** 2))),
        }
      })
      .sort((a, b) => a.hr - b.hr)
    const [calmest] = found
    expect(numbers(await askAfter('select', 32))).toEqual([
      {
        ...{ account: 'default', day: '2025-06-30', name: 'Evening tempo', beats: calmest?.beats },
        ...{ hr: rounded(calmest?.hr ?? 0), rmssd_ms: rounded(calmest?.rmssd ?? 0, 1) },
      },
    ])
  })

  it('has decoupling by month and the best climbs from the measures of each ride', async () => {
    const rides = (
      await queryOnce(
        database.url,
        `select to_char(a.started_at_local, 'YYYY-MM') as month, a.started_at_local, m.*
         from training.ride_measures m join training.activities a using (activity_id) where a.absent_since is null`,
      )
    ).map((row) => row as Record<string, unknown> & { month: string })
    const endurance = rides.filter(
      (ride) =>
        Number(ride.moving_s) >= 3_600 &&
        ride.intensity !== null &&
        Number(ride.intensity) < 0.85 &&
        ride.decoupling_pct !== null &&
        (ride.started_at_local as Date) >= new Date('2024-07-02T00:00:00'),
    )
    const months = [...new Set(endurance.map(({ month }) => month))].sort().reverse()
    expect(months.length).toBeGreaterThan(2)
    const answers = numbers(await askAfter('select', 30))
    expect(answers.map(({ month, rides: count }) => [month, count])).toEqual(
      months.map((month) => [month, endurance.filter((ride) => ride.month === month).length]),
    )
    for (const answer of answers) {
      const of = endurance.filter((ride) => ride.month === answer.month)
      expect(answer.decoupling_pct).toBeCloseTo(mean(of.map((ride) => Number(ride.decoupling_pct))), 0)
    }
    const climbs = rides
      .filter(({ longest_climb_vam: vam }) => vam !== null)
      .sort((a, b) => Number(b.longest_climb_vam) - Number(a.longest_climb_vam))
      .slice(0, 5)
    expect(climbs.length).toBeGreaterThan(0)
    expect(numbers(await askAfter('select', 31)).map(({ vam, gain_m: gain }) => [vam, gain])).toEqual(
      climbs.map((ride) => [
        rounded(Number(ride.longest_climb_vam)),
        rounded(Number(ride.longest_climb_gain_m)),
      ]),
    )
  })
})

/** Asks a question by its number after a change of the history, which is then taken back. */
async function askAfter(change: string, number: number, before = ''): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(`begin; ${change}`)
    return (await client.query(before + recipes[number - 1]?.sql)).rows
  } finally {
    await client.end()
  }
}

const day = (value: unknown) => (value as Date).toLocaleDateString('sv')

describe('the queries of the README', () => {
  it('work, have rows, and give the printed answers', async () => {
    const readme = await read('README.md')
    const queries = [...readme.matchAll(/musette sql "([^"]+)"(?:\n\n((?: {4}.+\n)+))?/g)]
    expect(queries).not.toEqual([])
    const answers = await answerAll(
      database.url,
      queries.map(([, sql]) => sql ?? ''),
    )
    for (const [index, [, sql, printed]] of queries.entries()) {
      expect(answers[index], sql).not.toContain('(0 rows)')
      if (printed !== undefined) expect(printed.replace(/^ {4}/gm, '').trim()).toBe(answers[index])
    }
    expect(queries.filter(([, , printed]) => printed !== undefined)).toHaveLength(1)
  })
})

describe('the document', () => {
  const section = '## 1. Why?\n\n```sql\nselect 1 as one\n```\n\n```text\nold\n```\n\nRead `one`.\n'

  it('gets new answers in place of the old ones', () => {
    const written = withRecipes(`# Top\n\n${section}`, parseRecipes(section), ['one\n───\n  1'])
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
