import { beforeAll, describe, expect, it } from 'vitest'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { readTable } from '../../kit/table.ts'
import { parseMetrics } from '../../program/web/rig.ts'

const ACTIVITIES = 6
/** Metrics of the database are cached for 5 s. */
const OFTEN = { everyMs: 200 }

describe('the metrics of a daemon that mirrors', () => {
  const rig = openForAll(() => openRig({ activities: ACTIVITIES, env: { MUSETTE_HTTP: '127.0.0.1:0' } }))
  const daemon = openForAll(() => {
    const { config, log } = rig.app
    const roles = ['scheduler', 'worker', 'web'] as const
    return openDaemon(config, log, { roles, signal: new AbortController().signal })
  })
  beforeAll(() => eventually(async () => (await scrape()).get(mirrored) === ACTIVITIES, OFTEN))

  const mirrored = 'musette_activities{account="default",state="mirrored"}'
  const fetchPage = async () => (await fetch(`${daemon.url}/metrics`)).text()
  const scrape = async () => parseMetrics(await fetchPage())

  it('show poll, login, requests, runs and queues, every state even at 0, and no secrets', async () => {
    const completed = 'musette_queue_jobs{queue="fetches",state="completed"}'
    const runs = 'musette_runs_total{resource="activities",kind="backfill",outcome="done"}'
    const page = await eventually(async () => {
      const text = await fetchPage()
      const now = parseMetrics(text)
      // One more if a sweep found an activity due while its fetch was running.
      return (now.get(completed) ?? 0) >= ACTIVITIES && now.get(runs) === 1 && text
    }, OFTEN)
    const seen = parseMetrics(page)
    const get = (name: string) => seen.get(name) ?? Number.NaN
    const [fetches, backfill] = [
      'endpoint="GET /oauth/activity/<id>"',
      'resource="activities",kind="backfill"',
    ]
    const fetched = get(`musette_requests_total{${fetches},status="200",failure=""}`)
    for (const [name, least, most] of readTable(`
account_freshness_seconds{account="default"} | 0 | 600
account_needs_login{account="default"} | 0 | 0
token_expires_seconds{account="default"} | 86400 | 1e9
token_age_seconds{account="default"} | 1e-9 | 600
token_refresh_failures{account="default"} | 0 | 0
token_refused_seconds{account="default"} | 0 | 0
backfill_to_go{account="default"} | 0 | 0
samples_bytes | 8193 | 1e9
database_bytes | ${get('musette_samples_bytes') + 1} | 1e12
requests_total{${fetches},status="200",failure=""} | ${ACTIVITIES} | 1e3
request_seconds_count{${fetches}} | ${fetched} | ${fetched}
run_seconds_count{${backfill}} | 1 | 1
run_seconds_sum{${backfill}} | 1e-9 | 600
up{part="queue"} | 1 | 1
queue_jobs{queue="fetches",state="waiting"} | 0 | 0
queue_jobs{queue="polls",state="delayed"} | 1 | 100
nodejs_eventloop_lag_seconds | 0 | 10`)) {
      expect(get(`musette_${name}`), name).toBeGreaterThanOrEqual(Number(least))
      expect(get(`musette_${name}`), name).toBeLessThanOrEqual(Number(most))
    }
    const states = {
      activities: ['wanted', 'awaiting_samples', 'failed', 'absent'],
      uploads: ['seen', 'refused'],
    }
    for (const [what, names] of Object.entries(states))
      for (const state of names)
        expect(get(`musette_${what}{account="default",state="${state}"}`), state).toBe(0)
    // The delay is measured at the scrape only.
    expect(page).not.toMatch(/eventloop_lag_(min|max|mean|stddev|p\d+)_seconds/)
    const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type])
    expect(types.filter(([name, type]) => name?.endsWith('_total') !== (type === 'counter'))).toEqual([])
    const paths = await rig.rows('select path from training.activities')
    const secrets = Object.values(await rig.steer('GET', 'tokens')).flat()
    expect(secrets.length).toBeGreaterThan(1)
    for (const hidden of [...secrets, ...paths.map(({ path }) => path)])
      expect(page).not.toContain(String(hidden))
  })

  it('count failures of the service, and the waits after its rate limits', async () => {
    const limited = { kind: 'status', status: 429, retry_after: 1, times: 1 }
    await rig.steer('POST', 'faults', { path: '/oauth/training_info', ...limited })
    const service = daemon.app.service.forAccount({ ...rig.account, baseUrl: rig.sandboxUrl })
    await service.fetchTrainingInfo({}).catch(() => undefined)
    const seen = await scrape()
    for (const name of [
      'requests_total{endpoint="GET /oauth/training_info",status="429",failure=""}',
      'rate_limit_waits_total',
      'rate_limit_wait_seconds_total',
    ])
      expect(seen.get(`musette_${name}`), name).toBe(1)
  })

  it('show accounts that need a login, have refused tokens, or were never polled', async () => {
    await rig.rows(
      `with refused as (update musette.credentials set refused_since = now() - interval '1 hour')
       update training.accounts set needs_login = true`,
    )
    await rig.rows(`insert into training.accounts (name, base_url) values ('new', 'http://x')`)
    const seen = await eventually(async () => {
      const now = await scrape()
      return now.get('musette_account_needs_login{account="default"}') === 1 && now
    }, OFTEN)
    const refused = seen.get('musette_token_refused_seconds{account="default"}')
    expect(refused).toBeGreaterThanOrEqual(3_600)
    expect(refused).toBeLessThan(4_000)
    expect(seen.get('musette_account_freshness_seconds{account="new"}')).toBe(Number.POSITIVE_INFINITY)
    expect(seen.has('musette_token_expires_seconds{account="new"}')).toBe(false)
  })
})
