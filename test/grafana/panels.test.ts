import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NOW } from '../docs/cookbook/history.ts'
import { MIRRORING_MS, openMirroredHistory } from '../docs/mirrored-history.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { type Dashboard, type Panel, readDashboards, unitOf } from './dashboards.ts'
import { expandQuery, parseStart } from './expand.ts'

type Answer = { columns: { name: string; numeric: boolean }[]; rows: Record<string, unknown>[] }

const dashboards = await readDashboards()
const panels = dashboards.flatMap((board) =>
  board.panels.map((panel) => ({ board, panel, name: `${board.title}: ${panel.title}` })),
)
const variables = dashboards.flatMap((board) =>
  board.templating.list.map((variable) => ({ board, variable, name: `${board.title}: ${variable.name}` })),
)
const graphs = panels.filter(({ panel }) => panel.type !== 'table')

let database: TestDatabase
let reader: pg.Client

beforeAll(async () => {
  database = await openMirroredHistory()
  reader = await openReader(database.url)
}, MIRRORING_MS)

afterAll(async () => {
  await reader?.end()
  await database?.close()
})

describe('the variable', () => {
  it.each(variables)('$name offers something, each under a name of its own', async ({ board, variable }) => {
    const { rows } = await ask(board, variable.query, await chosenBefore(board, variable.name))
    expect(rows.length).toBeGreaterThan(0)
    expect(new Set(rows.map((row) => row.__text)).size).toBe(rows.length)
    expect(rows.filter((row) => row.__value === null || row.__text === null)).toEqual([])
  })
})

describe('the panel', () => {
  it.each(panels)('$name has rows', async ({ board, panel }) => {
    const { rows, columns } = await askPanel(board, panel)
    expect(rows.length).toBeGreaterThan(0)
    const empty = columns
      .filter(({ name }) => rows.every((row) => row[name] === null))
      .map(({ name }) => name)
    expect(empty).toEqual(panel.title === 'Uploads' ? ['reason'] : [])
  })

  it.each(graphs)('$name has a unit for every number', async ({ board, panel }) => {
    const { columns } = await askPanel(board, panel)
    const without = columns.filter(({ name, numeric }) => numeric && !unitOf(panel, name))
    expect(without).toEqual([])
  })

  it.each(panels)('$name configures no column that is not there', async ({ board, panel }) => {
    const { columns } = await askPanel(board, panel)
    const named = [
      ...panel.fieldConfig.overrides.map(({ matcher }) => matcher.options),
      ...(panel.options.series ?? []).map(({ x }) => x.matcher.options),
      ...(panel.options.xField ? [panel.options.xField] : []),
    ]
    expect(columns.map(({ name }) => name)).toEqual(expect.arrayContaining(named))
  })

  it.each(panels.filter(({ panel }) => panel.type === 'timeseries'))(
    '$name is a series: a time that goes up, and numbers',
    async ({ board, panel }) => {
      const { columns, rows } = await askPanel(board, panel)
      expect(columns[0]?.name).toBe('time')
      expect(columns.slice(1).filter(({ numeric }) => !numeric)).toEqual([])
      const times = rows.map(({ time }) => (time as Date).getTime())
      expect(times).toEqual([...times].sort((a, b) => a - b))
    },
  )

  it.each(panels.filter(({ panel }) => panel.type === 'trend' || panel.type === 'xychart'))(
    '$name goes along a number that grows, but for a route, from few enough points to draw',
    async ({ board, panel }) => {
      const { columns, rows } = await askPanel(board, panel)
      const x = columns[0]?.name ?? ''
      expect(columns.filter(({ numeric }) => !numeric)).toEqual([])
      const places = rows.map((row) => Number(row[x]))
      if (panel.title !== 'Route') expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
      expect(rows.length).toBeLessThanOrEqual(6_000)
    },
  )
})

describe('a dashboard of a rider without a weight', () => {
  it('answers every query without an error', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    try {
      await client.query('begin; update training.training_info set weight_kg = 0')
      for (const { board, panel } of panels) {
        const values = await chosenBefore(board, undefined)
        for (const { rawSql } of panel.targets) await client.query(expand(board, rawSql, values))
      }
    } finally {
      await client.end()
    }
  })
})

describe('a dashboard of an empty mirror', () => {
  it('shows nothing, and no error', async () => {
    const empty = await openTestDatabase()
    const client = await openReader(empty.url)
    try {
      for (const { board, panel } of panels) {
        const values = Object.fromEntries(board.templating.list.map(({ name }) => [name, '1']))
        for (const { rawSql } of panel.targets) await client.query(expand(board, rawSql, values))
      }
    } finally {
      await client.end()
      await empty.close()
    }
  })
})

/** What Grafana's own login may do, without the name and the password of one. */
async function openReader(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set role musette_reader; set default_transaction_read_only = on')
  return client
}

async function askPanel(board: Dashboard, panel: Panel): Promise<Answer> {
  const [target] = panel.targets
  return ask(board, target?.rawSql ?? '', await chosenBefore(board, undefined))
}

/** Chooses the first value of each variable, as Grafana does, up to the one named. */
async function chosenBefore(board: Dashboard, end: string | undefined): Promise<Record<string, string>> {
  const chosen: Record<string, string> = {}
  for (const { name, query } of board.templating.list) {
    if (name === end) break
    const { rows } = await ask(board, query, chosen)
    chosen[name] = String(rows[0]?.__value)
  }
  return chosen
}

async function ask(board: Dashboard, sql: string, values: Record<string, string>): Promise<Answer> {
  const { rows, fields } = await reader.query<Record<string, unknown>>(expand(board, sql, values))
  return { rows, columns: fields.map(({ name, dataTypeID }) => ({ name, numeric: NUMBERS.has(dataTypeID) })) }
}

// Passes bear the time of the database, rides the time of the history: the range ends now and begins as long before NOW
// as the dashboard says.
function expand(board: Dashboard, sql: string, values: Record<string, string>): string {
  const range = { from: parseStart(board.time.from, NOW), to: new Date() }
  return expandQuery(sql, { variables: values, range })
}

const { INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC } = pg.types.builtins
const NUMBERS: ReadonlySet<number> = new Set<number>([INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC])
