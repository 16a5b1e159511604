import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { openBrowser } from '../kit/chromium.ts'
import { type Bench, median, openBench, quantile, type Row, read, startWeb, timed } from './rig.ts'

const VISITS = 5
const PATHS = ['/', '/activities', '/fitness', '/map', '/totals', '/runs'] as const

const MANY = 10_000
const REQUESTS = 100
const LISTS = [
  '',
  '?search=windy%20tempo',
  '?sort=power',
  '?year=2024&power=yes&sort=xss&order=asc',
  `?offset=${MANY - 100}`,
]
/** Copies of the first activity, without samples: the list reads none. */
const copiesUpTo = (
  many: number,
) => `insert into training.activities (account_id, path, name, description, activity_type, started_at, timezone,
    started_at_local, detail_state, sample_count, elapsed_s, max_power, avg_power, xss, distance, summary, listed_at, wanted_at)
  select a.account_id, 'copy' || n, 'Windy tempo ' || n, 'With wind from the north', a.activity_type, at, 'UTC', at at time zone 'UTC',
    'mirrored', 0, 600 + n, 800, 100 + n % 200, n % 150, 30, a.summary, now(), now()
  from generate_series(1, ${many} - (select count(*) from training.activities)) n,
    lateral (select timestamptz '2026-06-01 06:00Z' - n * interval '9 hours' as at) t,
    (select * from training.activities limit 1) a`

/** Gives each activity a box of about 40 km somewhere on the land around one town. */
const PLACES = `update training.activities set start_lng = lng, start_lat = lat, west = lng, south = lat, east = lng + 0.4, north = lat + 0.3
  from (select activity_id, -81 + (activity_id * 37 % 401) * 0.01 as lng, 42 + (activity_id * 53 % 307) * 0.01 as lat
    from training.activities) place where place.activity_id = activities.activity_id`

/** Measures what a browser without a cache waits for, and how many bytes it gets, when it opens a page of the dashboard. */
export async function benchWeb(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: 200, seconds: 600, distinct: 10 })
  await bench.musette(['sync'])
  const { url, kill } = await startWeb(bench)
  const rows: Row[] = []
  const [one] = (await bench.client.query('select min(activity_id) as id from training.activities')).rows
  for (const path of PATHS) rows.push(...(await visit(`${url}${path}`, path)))
  rows.push(...(await visit(`${url}/activities/${one.id}`, 'an activity')))
  await addCopies(bench.client, MANY)
  rows.push(
    await findNear(bench),
    await listMany(url),
    await ask(`${url}/api/today`, `the answer of / with ${MANY} activities`),
  )
  await kill()
  return rows
}

/** Adds activities until there are so many. */
export async function addCopies(client: Bench['client'], many: number): Promise<void> {
  await client.query(copiesUpTo(many))
  await client.query(PLACES)
  await client.query('vacuum analyze training.activities')
}

async function listMany(url: string): Promise<Row> {
  const took: number[] = []
  for (let request = 0; request < REQUESTS; request++)
    took.push(await timed(() => read(`${url}/api/activities/list${LISTS[request % LISTS.length]}`)))
  const value = `${quantile(took, 0.95).toFixed(0)} ms`
  return [`a page of the list of ${MANY} activities, p95`, value, 'under 100 ms']
}

async function findNear({ client }: Bench): Promise<Row> {
  const recipe = COOKBOOK.find(({ name }) => name === 'rides_near_a_place')
  if (!recipe) throw new Error('the cookbook has no question rides_near_a_place')
  const took: number[] = []
  for (let visit = 0; visit < VISITS; visit++) took.push(await timed(() => client.query(recipe.sql)))
  const value = `${median(took).toFixed(1)} ms`
  return [`the rides near a place, of ${MANY} activities, median of ${VISITS}`, value, 'milliseconds']
}

async function ask(address: string, what: string): Promise<Row> {
  const took: number[] = []
  for (let request = 0; request < VISITS; request++) took.push(await timed(() => read(address)))
  return [`${what}, median of ${VISITS}`, `${median(took).toFixed(0)} ms`]
}

async function visit(address: string, path: string): Promise<Row[]> {
  const browser = await openBrowser()
  try {
    const paints: number[] = []
    const contents: number[] = []
    let bytes = 0
    for (let round = 0; round < VISITS; round++) {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(address)
      await page.locator('main h1').waitFor()
      // Texts for the browser: Node's types know no window.
      contents.push(Number(await page.evaluate('performance.now()')))
      paints.push(
        Number(
          await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`),
        ),
      )
      bytes = Number(
        await page.evaluate(
          `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
             .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
        ),
      )
      await context.close()
    }
    return [
      [`first contentful paint of ${path}, median of ${VISITS}`, `${median(paints).toFixed(0)} ms`],
      [`the same until its numbers are there`, `${median(contents).toFixed(0)} ms`],
      [`weight of ${path} with scripts, styles and numbers`, `${(bytes / 1_000).toFixed(0)} kB`],
    ]
  } finally {
    await browser.close()
  }
}
