import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { NOW, setClock } from '../docs/cookbook/history.ts'
import { MIRRORING_MS, openMirroredHistory } from '../docs/mirrored-history.ts'
import { connect } from '../kit/connect.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { readTable } from '../kit/table.ts'
import { type Dashboard, readDashboards, unitOf } from './dashboards.ts'
import { expandQuery, parseStart } from './expand.ts'

type Answer = { columns: { name: string; numeric: boolean }[]; rows: Record<string, unknown>[] }

const dashboards = await readDashboards()
const panels = dashboards.flatMap((board) =>
  board.panels.map((panel) => ({ board, panel, name: `${board.title}: ${panel.title}` })),
)
const variables = dashboards.flatMap((board) =>
  board.templating.list.map((variable) => ({ board, variable, name: `${board.title}: ${variable.name}` })),
)

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
  it.each(variables)('$name offers unique values', async ({ board, variable }) => {
    const { rows } = await ask(board, variable.query, await chosenBefore(board, variable.name))
    expect(rows.length).toBeGreaterThan(0)
    expect(new Set(rows.map((row) => row.__text)).size).toBe(rows.length)
    expect(rows.filter((row) => row.__value === null || row.__text === null)).toEqual([])
  })
})

describe('the panel', () => {
  it.each(panels)(
    '$name has rows in columns that are configured, and a form that can be drawn',
    async ({ board, panel }) => {
      const chosen = await chosenBefore(board, undefined)
      const { rows, columns } = await ask(board, panel.targets[0]?.rawSql ?? '', chosen)
      expect(rows.length).toBeGreaterThan(0)
      const empty = columns.filter(({ name }) => rows.every((row) => row[name] === null))
      expect(empty.map(({ name }) => name)).toEqual(panel.title === 'Uploads' ? ['reason'] : [])
      const named = [
        ...panel.fieldConfig.overrides.map(({ matcher }) => matcher.options),
        ...(panel.options.series ?? []).map(({ x }) => x.matcher.options),
        ...(panel.options.xField ? [panel.options.xField] : []),
      ]
      expect(columns.map(({ name }) => name)).toEqual(expect.arrayContaining(named))
      if (panel.type === 'table') return

      expect(columns.filter(({ name, numeric }) => numeric && !unitOf(panel, name))).toEqual([])
      if (panel.type === 'timeseries') {
        expect(columns[0]?.name).toBe('time')
        const times = rows.map(({ time }) => (time as Date).getTime())
        expect(times).toEqual(times.toSorted((a, b) => a - b))
      }
      const isPlot = panel.type === 'trend' || panel.type === 'xychart'
      const numbers = panel.type === 'timeseries' ? columns.slice(1) : isPlot ? columns : []
      expect(numbers.filter(({ numeric }) => !numeric)).toEqual([])
      if (!isPlot) return

      // It goes along a number that grows, but for a route, from few enough points to draw.
      const places = rows.map((row) => Number(row[columns[0]?.name ?? '']))
      if (panel.title !== 'Route') expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
      expect(rows.length).toBeLessThanOrEqual(6_000)
    },
  )
})

describe('a ride of today, on a Monday that begins a month,', () => {
  // The rider's zone, when that day began there, the range that is shown, and now.
  it.each(
    readTable(`
this morning, where UTC still has yesterday | Pacific/Auckland | 2025-08-31T12:00Z | 2025-08-01T00:00Z | 2025-08-31T20:00Z
this evening, where UTC has tomorrow, the only day of UTC shown | America/Los_Angeles | 2025-09-01T07:00Z | 2025-09-02T00:00Z | 2025-09-02T03:00Z`),
  )('is on each graph over time: %s', async (_when, zone, ...moments) => {
    const [midnight, from, now] = moments.map((moment) => new Date(moment)) as [Date, Date, Date]
    const client = await connect(database.url)
    onTestFinished(() => client.end())
    const isDrawn = ({ board, panel }: (typeof panels)[number]) =>
      panel.type === 'timeseries' && board.time.from !== 'now-7d'
    const drawn = panels.filter(isDrawn)
    expect(drawn.length).toBeGreaterThan(10)
    const askAll = async () => {
      const answers: Record<string, { time: Date }[]> = {}
      for (const { board, panel, name } of drawn) {
        const values = { ...(await chosenBefore(board, undefined)), sport: 'all sports' }
        const range = { from, to: now }
        const sql = expandQuery(panel.targets[0]?.rawSql ?? '', { variables: values, range })
        answers[name] = (await client.query<{ time: Date }>(sql)).rows
      }
      return answers
    }
    await client.query('begin')
    await setClock(client, now)
    await client.query('update training.accounts set timezone = $1', [zone])
    const { rows } = await client.query(
      `update training.activities set started_at = $1::timestamptz - interval '90 minutes', timezone = $2,
         started_at_local = ($1::timestamptz - interval '90 minutes') at time zone $2
       where activity_id = (select activity_id from training.activities join training.ride_measures using (activity_id)
         where elapsed_s >= 7200 and avg_power > 0 and mean_hr > 0 and tl_ftp is not null and total_grams_carbs is not null
         order by activities.started_at desc limit 1) returning activity_id`,
      [now, zone],
    )
    await client.query(
      `update training.training_info set observed_at = $1::timestamptz - interval '2 hours', last_seen_at = $1::timestamptz - interval '2 hours'
       where observed_at = (select max(observed_at) from training.training_info)`,
      [now],
    )
    const shown = await askAll()
    const gone = 'update training.activities set absent_since = now() where activity_id = $1'
    await client.query(gone, [rows[0]?.activity_id])
    const without = await askAll()
    for (const { name } of drawn) {
      expect(shown[name], name).not.toEqual(without[name])
      const last = shown[name]?.at(-1)?.time.getTime() ?? 0
      expect(last, name).toBeGreaterThanOrEqual(midnight.getTime())
      expect(last, `${name} is not drawn: it lies after the end of the range`).toBeLessThanOrEqual(
        now.getTime(),
      )
    }
  })
})

/** Asks for each panel with these values of its variables. */
async function askAllOf(client: pg.Client, find: (board: Dashboard) => Promise<Record<string, string>>) {
  for (const board of dashboards) {
    const values = await find(board)
    for (const { rawSql } of board.panels.flatMap(({ targets }) => targets))
      await client.query(expand(board, rawSql, values))
  }
}

it('a dashboard of a rider without a weight answers every query without an error', async () => {
  const client = await connect(database.url)
  onTestFinished(() => client.end())
  await client.query('begin; update training.training_info set weight_kg = 0')
  await askAllOf(client, (board) => chosenBefore(board, undefined))
})

it('a dashboard of an empty mirror shows nothing, and no error', async () => {
  const empty = await openTestDatabase()
  onTestFinished(() => empty.close())
  const client = await openReader(empty.url)
  onTestFinished(() => client.end())
  const values = ({ templating }: Dashboard) => templating.list.map(({ name }) => [name, '1'])
  await askAllOf(client, async (board) => Object.fromEntries(values(board)))
})

/** What Grafana's own login may do, without the name and the password of one. */
async function openReader(url: string): Promise<pg.Client> {
  const client = await connect(url)
  await client.query('set role musette_reader; set default_transaction_read_only = on')
  return client
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
