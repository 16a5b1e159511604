import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { openBrowser } from '../kit/chromium.ts'
import { type Bench, median, openBench, quantile, type Row, read, seconds, startWeb, timed } from './rig.ts'

const RIDES = 3_000
const SECONDS = 3_334
const RECALCULATIONS = 3
/** In this many passes, so that the activities come to lie in random order. */
const PASSES = 10
const ROUNDS = 15
/** The daemon keeps an answer for a second. */
const KEPT_MS = 1_050
const MANY = 10_000
const LONG_RIDE = 20_000

/** The bench's answers repeat, and so do the days that they tell: gives each activity a day of its own. */
const ONE_A_DAY = `with newest as (select max(started_at) as at, max(started_at_local) as local from training.activities),
    moved as (select activity_id, (row_number() over (order by activity_id) - 1) * interval '1 day' as ago from training.activities),
    activity as (update training.activities v set started_at = at - ago, started_at_local = local - ago
      from moved m, newest where m.activity_id = v.activity_id returning v.activity_id, v.started_at_local),
    curve as (update training.power_curves c set started_at_local = v.started_at_local, season = date_part('year', v.started_at_local)
      from activity v where v.activity_id = c.activity_id)
  update training.activity_intensity i set day = v.started_at_local::date, month = date_trunc('month', v.started_at_local)::date
  from activity v where v.activity_id = i.activity_id`
/** 90 days of polls, one in five minutes, which all brought nothing. */
const POLLS = `insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome, listed, changed, fetched)
  select account_id, resource, 'poll', at, at, 'done', 0, 0, 0 from training.accounts, unnest(array['activities', 'training_info']) resource,
    generate_series(now() - interval '90 days', now() - interval '5 minutes', interval '5 minutes') at`
/** Older activities without samples, up to 10,000, and numbers with all digits that change from one to the next. */
const COPIES = `insert into training.activities (account_id, path, name, activity_type, started_at, timezone, started_at_local,
    detail_state, sample_count, elapsed_s, avg_power, xss, xlss, xhss, xpss, distance, summary, listed_at, wanted_at)
  select a.account_id, 'copy' || n, 'Windy tempo ' || n, 'Cycling', at, 'UTC', at at time zone 'UTC', 'mirrored', 0, 600 + n, 100 + n % 200,
    100 * random(), 80 * random(), 10 * random(), random(), 30, '{}', now(), now()
  from (select account_id, started_at from training.activities order by started_at limit 1) a, generate_series(1, ${MANY - RIDES}) n,
    lateral (select a.started_at - n * interval '17 hours' - random() * interval '5 hours' as at) t`
const SIGNATURES = `update training.activities v set sig_ftp = 250 + 30 * sin(n / 400.0) + random(), sig_atc = 20000 + 3000 * sin(n / 300.0)
      + 100 * random(), sig_pp = 900 + 100 * sin(n / 350.0) + 3 * random(), prev_sig_ltp = 190 + 20 * sin(n / 400.0) + random(),
    tl_ftp = 60 + 20 * sin(n / 50.0) + 5 * random(), tl_hie = 5 + random(), tl_pp = 1 + random(), rl_ftp = 60 + 30 * sin(n / 20.0)
      + 5 * random(), rl_hie = 5 + random(), rl_pp = random(), form = 20 * sin(n / 30.0) + random()
  from (select activity_id, row_number() over (order by started_at) as n from training.activities) w where w.activity_id = v.activity_id`
const LONGEST = `with ride as (update training.activities set sample_count = ${LONG_RIDE} where path = 'copy1' returning activity_id, started_at)
  insert into training.samples (activity_id, t, power, mpa, cad, alt, hr, spd, lat, lng, dist)
  select r.activity_id, r.started_at + (row_number() over (order by s.activity_id, s.t) - 1) * interval '1 second', power, mpa, cad, alt, hr, spd,
    lat, lng, dist from training.samples s, ride r where s.activity_id in (select activity_id from training.activities where path in
      ('ride1', 'ride2', 'ride3', 'ride4', 'ride5', 'ride6')) order by s.activity_id, s.t limit ${LONG_RIDE}`

/**
 * Measures what a person waits for, over 3,000 activities and ten million samples that were recalculated three times in random
 * order while autovacuum was off, with 90 days of polls.
 */
export async function benchWaits(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: 40, kind: 'live' })
  await bench.client.query('alter system set autovacuum = off')
  await bench.client.query('select pg_reload_conf()')
  await bench.musette(['sync'])
  await bench.client.query(POLLS)
  const rewritten = await rewriteInRandomOrder(bench)
  await bench.client.query(ONE_A_DAY)
  return [
    rewritten,
    await p95('select 1', '', () => bench.client.query('select 1')),
    await p95('power of the last ten activities', '', () => bench.client.query(TEN_RIDES)),
    ...(await measureVerbs(bench)),
    ...(await measurePages(bench)),
  ]
}

async function rewriteInRandomOrder(bench: Bench): Promise<Row> {
  const took: number[] = []
  for (let time = 0; time < RECALCULATIONS; time++) {
    await bench.ask('_recalculate')
    const { rows } = await bench.client.query<{ path: string }>(
      'select path from training.activities order by random()',
    )
    const paths = rows.map(({ path }) => path)
    const share = Math.ceil(paths.length / PASSES)
    took.push(
      await timed(async () => {
        for (let from = 0; from < paths.length; from += share)
          await bench.musette(['resync', ...paths.slice(from, from + share)])
      }),
    )
  }
  return ['three recalculations in random order, each', took.map(seconds).join('  ')]
}

const TEN_RIDES = `select avg(power) from training.samples join
  (select activity_id from training.activities order by started_at desc limit 10) last using (activity_id)`

async function measureVerbs(bench: Bench): Promise<Row[]> {
  const { rows } = await bench.client.query('select max(change_id) - 1000 as since from training.changes')
  return [
    await p95('musette status', '0.25 s', () => bench.musette(['status', '--json'])),
    await p95('musette changes, 1,000 of them', '0.25 s', () =>
      bench.musette(['changes', '--json', '--since', String(rows[0].since)]),
    ),
  ]
}

async function measurePages(bench: Bench): Promise<Row[]> {
  const { url, kill } = await startWeb(bench)
  const rows = [await p95('the answer of / (/api/today)', '50 ms', () => read(`${url}/api/today`), KEPT_MS)]
  for (const text of [COPIES, SIGNATURES, LONGEST]) await bench.client.query(text)
  await bench.client.query('analyze training.activities')
  rows.push([
    `weight of /api/fitness with ${MANY} activities, in gzip`,
    `${((await read(`${url}/api/fitness`)) / 1_000).toFixed(0)} kB`,
    '200 kB',
  ])
  const [long] = (
    await bench.client.query(`select activity_id from training.activities where path = 'copy1'`)
  ).rows
  const browser = await openBrowser()
  const opened: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    opened.push(await waitForCharts(page, `${url}/activities/${long.activity_id}`))
    await context.close()
  }
  const page = await browser.newPage()
  await page.goto(`${url}/activities`)
  await page.locator('main h1').waitFor()
  await pause(2_000)
  const typed: number[] = []
  for (const letter of 'windy1234') typed.push(await typeLetter(page, letter))
  await browser.close()
  await kill()
  return [
    ...rows,
    [
      `an activity of ${LONG_RIDE} samples until its charts are drawn, median / p95`,
      `${median(opened).toFixed(0)} / ${quantile(opened, 0.95).toFixed(0)} ms`,
      '300 ms',
    ],
    [
      `from a letter of a search to its rows, ${MANY} activities, median / p95`,
      `${median(typed).toFixed(0)} / ${quantile(typed, 0.95).toFixed(0)} ms`,
      '100 ms',
    ],
  ]
}

/** Opens a page and returns when, after the navigation began, the first frame with its charts was painted, ms. */
async function waitForCharts(page: Page, address: string): Promise<number> {
  await page.addInitScript(`new MutationObserver((_, observer) => {
    if (!document.querySelector('canvas')) return
    observer.disconnect()
    requestAnimationFrame(() => {
      const painted = new MessageChannel()
      painted.port1.onmessage = () => { window.paintedAt = performance.now() }
      painted.port2.postMessage(0)
    })
  }).observe(document, { childList: true, subtree: true })`)
  await page.goto(address)
  for (;;) {
    const at = await page.evaluate('window.paintedAt')
    if (at) return Number(at)
    await pause(20)
  }
}

/** Types a letter into the field of the search and returns when the answer's rows are painted, ms. */
async function typeLetter(page: Page, letter: string): Promise<number> {
  const took = await page.evaluate(`new Promise((resolve) => {
    const field = document.querySelector('#search')
    const known = performance.getEntriesByType('resource').length
    const began = performance.now()
    field.focus()
    field.value += ${JSON.stringify(letter)}
    field.dispatchEvent(new Event('input', { bubbles: true }))
    const look = () =>
      performance.getEntriesByType('resource').slice(known).some(({ name }) => name.includes('search='))
        ? requestAnimationFrame(() => resolve(performance.now() - began))
        : setTimeout(look, 1)
    look()
  })`)
  await pause(500)
  return Number(took)
}

async function p95(what: string, goal: string, work: () => Promise<unknown>, everyMs = 0): Promise<Row> {
  await work()
  const took: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await pause(everyMs)
    took.push(await timed(work))
  }
  const ms = quantile(took, 0.95)
  return [`${what}, p95`, ms < 1_000 ? `${ms.toFixed(1)} ms` : `${seconds(ms)}`, goal]
}
