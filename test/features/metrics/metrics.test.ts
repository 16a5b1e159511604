import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Daemon, openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { parseMetrics } from '../../program/web/rig.ts'

const ACTIVITIES = 6
/** What was read of the database is kept for 5 s. */
const OFTEN = { everyMs: 200 }

describe('the metrics of a daemon that mirrors', () => {
  let rig: Rig
  let daemon: Daemon
  beforeAll(async () => {
    rig = await openRig({ activities: ACTIVITIES, env: { MUSETTE_HTTP: '127.0.0.1:0' } })
    const { config, log } = rig.app
    const roles = ['scheduler', 'worker', 'web'] as const
    daemon = await openDaemon(config, log, { roles, signal: new AbortController().signal })
    await eventually(async () => (await scrape()).get(mirrored) === ACTIVITIES, OFTEN)
  })
  afterAll(async () => {
    await daemon?.close()
    await rig?.close()
  })

  const mirrored = 'musette_activities{account="default",state="mirrored"}'
  const fetchPage = async () => (await fetch(`${daemon.url}/metrics`)).text()
  const scrape = async () => parseMetrics(await fetchPage())

  it('show the last poll and the login of an account', async () => {
    const seen = await scrape()
    expect(seen.get('musette_account_freshness_seconds{account="default"}')).toBeLessThan(600)
    expect(seen.get('musette_account_needs_login{account="default"}')).toBe(0)
    expect(seen.get('musette_token_expires_seconds{account="default"}')).toBeGreaterThan(86_400)
    expect(seen.get('musette_token_age_seconds{account="default"}')).toBeGreaterThan(0)
    expect(seen.get('musette_token_refresh_failures{account="default"}')).toBe(0)
    expect(seen.get('musette_token_refused_seconds{account="default"}')).toBe(0)
  })

  it('count activities and uploads in every state, also at 0', async () => {
    const seen = await scrape()
    for (const state of ['wanted', 'awaiting_samples', 'failed', 'absent']) {
      expect(seen.get(`musette_activities{account="default",state="${state}"}`), state).toBe(0)
    }
    expect(seen.get('musette_backfill_to_go{account="default"}')).toBe(0)
    for (const state of ['seen', 'unconfirmed', 'mirrored', 'refused']) {
      expect(seen.get(`musette_uploads{account="default",state="${state}"}`), state).toBe(0)
    }
    expect(seen.get('musette_samples_bytes')).toBeGreaterThan(8_192)
    expect(seen.get('musette_database_bytes')).toBeGreaterThan(seen.get('musette_samples_bytes') ?? 0)
  })

  it('count requests by endpoint and status, and never by activity', async () => {
    const seen = await scrape()
    const fetched = seen.get(
      'musette_requests_total{endpoint="GET /oauth/activity/<id>",status="200",failure=""}',
    )
    expect(fetched).toBeGreaterThanOrEqual(ACTIVITIES)
    expect(seen.get('musette_request_seconds_count{endpoint="GET /oauth/activity/<id>"}')).toBe(fetched)
    const page = await fetchPage()
    for (const { path } of await rig.rows('select path from training.activities')) {
      expect(page).not.toContain(String(path))
    }
  })

  it('count failures of the service, and the waits after its rate limits', async () => {
    await rig.steer('POST', 'faults', {
      path: '/oauth/training_info',
      kind: 'status',
      status: 429,
      retry_after: 1,
      times: 1,
    })
    const account = { ...rig.account, baseUrl: rig.sandboxUrl }
    await daemon.app.service
      .forAccount(account)
      .fetchTrainingInfo({})
      .catch(() => undefined)
    const seen = await scrape()
    expect(
      seen.get('musette_requests_total{endpoint="GET /oauth/training_info",status="429",failure=""}'),
    ).toBe(1)
    expect(seen.get('musette_rate_limit_waits_total')).toBe(1)
    expect(seen.get('musette_rate_limit_wait_seconds_total')).toBe(1)
  })

  it('count runs with their outcomes and durations', async () => {
    const name = 'musette_runs_total{resource="activities",kind="backfill",outcome="done"}'
    const seen = await eventually(async () => {
      const now = await scrape()
      return now.get(name) === 1 && now
    }, OFTEN)
    expect(seen.get('musette_run_seconds_count{resource="activities",kind="backfill"}')).toBe(1)
    expect(seen.get('musette_run_seconds_sum{resource="activities",kind="backfill"}')).toBeGreaterThan(0)
  })

  it('show the depth of the queues', async () => {
    const completed = 'musette_queue_jobs{queue="fetches",state="completed"}'
    const seen = await eventually(async () => {
      const now = await scrape()
      // One more when a sweep found an activity due while its fetch was under way.
      return (now.get(completed) ?? 0) >= ACTIVITIES && now
    }, OFTEN)
    expect(seen.get('musette_up{part="queue"}')).toBe(1)
    expect(seen.get('musette_queue_jobs{queue="fetches",state="waiting"}')).toBe(0)
    expect(seen.get('musette_queue_jobs{queue="polls",state="delayed"}')).toBeGreaterThan(0)
  })

  it('measure the delay of the event loop at the scrape only', async () => {
    const page = await fetchPage()
    expect(Number(/^musette_nodejs_eventloop_lag_seconds (.+)$/m.exec(page)?.[1])).toBeLessThan(10)
    expect(page).not.toMatch(/eventloop_lag_(min|max|mean|stddev|p\d+)_seconds/)
  })

  it('contain no token', async () => {
    const page = await fetchPage()
    const granted = await rig.steer('GET', 'tokens')
    const secrets = Object.values(granted).flat().map(String)
    expect(secrets.length).toBeGreaterThan(1)
    for (const secret of secrets) expect(page).not.toContain(secret)
  })

  it('show an account that needs a login, how long its new tokens are refused, and one that was never polled', async () => {
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
