import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { HOUR } from '../../../src/kit/time.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { findFreePort } from '../../kit/listen.ts'
import { openForAll } from '../../kit/open-for.ts'
import { END_CONNECTIONS } from '../../kit/postgres.ts'
import { openReceiver } from '../../kit/receiver.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { parseMetrics } from '../../program/web/rig.ts'
import { openTestReceiver, SECRET, WHSEC } from './receiver.ts'

const ACTIVITIES = 12
const OFTEN = { everyMs: 200 }

describe('a daemon with webhooks', () => {
  let file: string
  const folder = openForAll(() => openTempDir('webhooks'))
  const receiver = openForAll(() => openReceiver())
  const phone = openForAll(() => openReceiver((response) => response.writeHead(200).end('{"id":"1"}')))
  const rig = openForAll(async () => {
    file = join(folder.path, 'webhooks.json')
    const home = { name: 'home', style: 'standard', url: `${receiver.url}/hidden`, secret: WHSEC }
    const ntfy = { name: 'phone', style: 'ntfy', url: `${phone.url}/topic`, token: 'tk_hidden' }
    const list = [home, { ...ntfy, events: ['login.lost'] }]
    await writeFile(file, JSON.stringify(list), { mode: 0o600 })
    const env = { MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '1s', MUSETTE_WEBHOOKS: file }
    return openRig({ activities: ACTIVITIES, env: { ...env, MUSETTE_HTTP: '127.0.0.1:0' } })
  })
  const daemon = openForAll(() => {
    const { config, log } = rig.app
    const roles = ['scheduler', 'worker', 'web'] as const
    return openDaemon(config, log, { roles, signal: new AbortController().signal })
  })

  const messages = () => receiver.received.map(({ text }) => JSON.parse(text))
  const findEvent = (type: string) =>
    eventually(() => messages().find((message) => message.type === type), OFTEN)

  it('sends one message about a new activity and one about the whole earlier history', async () => {
    const mirrored = `select from training.activities where detail_state = 'mirrored'`
    await eventually(async () => (await rig.rows(mirrored)).length === ACTIVITIES, OFTEN)
    await eventually(async () => (await rig.rows('select from musette.webhook_waiting')).length === 0, OFTEN)
    // The activities of the backfill were first seen within the last minutes.
    await rig.rows(`update training.activities set first_seen_at = first_seen_at - interval '1 hour'`)
    await rig.steer('POST', 'activities', { name: 'The new one', seconds: 300 })
    const { data, timestamp } = await findEvent('activity.new')
    expect(data).toMatchObject({
      account: 'default',
      title: 'New activity: "The new one"',
      xss: expect.any(Number),
    })
    expect(Date.now() - Date.parse(timestamp)).toBeLessThan(HOUR)
    await rig.rows(`update musette.webhook_digests set last_at = last_at - interval '1 hour'`)
    expect((await findEvent('history.mirrored')).data).toMatchObject({ activities: ACTIVITIES })
    const types = messages().map(({ type }) => type)
    expect(types.filter((type) => type !== 'breakthrough')).toEqual(['activity.new', 'history.mirrored'])
  })

  it('sends a lost login with the command to type, even after Postgres ended all connections', async () => {
    const collecting = setInterval(collectGarbage, 250)
    onTestFinished(() => clearInterval(collecting))
    await rig.rows(END_CONNECTIONS)
    await rig.steer('POST', 'tokens/revoke')
    expect((await findEvent('login.lost')).data.command).toBe('musette login')
    const got = await eventually(() => phone.received[0], OFTEN)
    expect(got.path).toBe('/')
    expect(got.headers.authorization).toBe('Bearer tk_hidden')
    expect(JSON.parse(got.text)).toMatchObject({ topic: 'topic', title: 'The login is lost', priority: 5 })
  })

  it('shows deliveries in status, doctor and metrics, without URLs', async () => {
    // A receiver gets a message before the daemon records its delivery.
    const open = `select from musette.webhook_messages where state = 'open'`
    await eventually(async () => (await rig.rows(open)).length === 0, OFTEN)
    expect((await findStatus(rig.app)).features.webhooks).toMatchObject([
      { webhook: 'home', open: 0, given_up: 0, last_error: null },
      { webhook: 'phone', open: 0, delivered: 1 },
    ])
    expect(await diagnose('webhooks', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/^webhook "home": last message delivered .* ago$/) },
      { state: 'ok' },
    ])
    const delivered = 'musette_webhook_messages{webhook="phone",state="delivered"}'
    const page = await eventually(async () => {
      const text = await (await fetch(`${daemon.url}/metrics`)).text()
      return parseMetrics(text).get(delivered) === 1 && text
    }, OFTEN)
    const rows = JSON.stringify(await rig.rows('select * from musette.webhook_messages, musette.webhooks'))
    const ports = [receiver, phone].map(({ url }) => new URL(url).port)
    for (const text of [page, rows, rig.log.text()])
      for (const secret of ['hidden', SECRET.toString('base64'), ...ports.map((port) => `127.0.0.1:${port}`)])
        expect(text.includes(secret), secret).toBe(false)
    await chmod(file, 0o644)
    const config = readConfig({ MUSETTE_WEBHOOKS: file })
    const finding = { state: 'warning', run: `chmod 600 ${file}` }
    expect((await diagnose('webhooks', { ...rig.app, config }))[0]).toMatchObject(finding)
  })
})

it('musette webhook test prints the response; its exit code says if it was delivered', async () => {
  const folder = await openTempDir('webhook-test')
  onTestFinished(() => folder.close())
  const good = await openTestReceiver((response) => response.writeHead(200).end('thanks'))
  const bad = await openTestReceiver((response) => response.writeHead(403).end('who are you'))
  const file = join(folder.path, 'webhooks.json')
  const common = { style: 'standard', secret: WHSEC }
  const list = [
    { ...common, name: 'good', url: good.url },
    { ...common, name: 'bad', url: bad.url, events: ['login.lost'] },
    { ...common, name: 'away', url: `http://127.0.0.1:${await findFreePort()}` },
  ]
  await writeFile(file, JSON.stringify(list), { mode: 0o600 })
  for (const [args, code, printed] of [
    [['good'], 0, /^good: delivered, HTTP 200, after \d+ ms; the answer is "thanks"\n$/],
    [['bad'], 3, /^bad: not delivered, HTTP 403/],
    [['away'], 4, /^away: not delivered/],
    [['other'], 2, /the file has: good, bad, away/],
    [['--json'], 5, /./],
    [[], 2, /MUSETTE_WEBHOOKS is not set/],
  ] as const) {
    const env: Record<string, string> = args.length === 0 ? {} : { MUSETTE_WEBHOOKS: file }
    const end = await runVerb(['webhook', 'test', ...args], { cwd: folder.path, env })
    expect([args, end.code, end.stdout || end.stderr]).toEqual([args, code, expect.stringMatching(printed)])
    if (code === 5)
      expect(JSON.parse(end.stdout)).toMatchObject([
        { webhook: 'good', delivered: true, status: 200, error: null, answer: 'thanks' },
        { webhook: 'bad', delivered: false, status: 403, error: 'HTTP 403' },
        { webhook: 'away', delivered: false, status: null, error: 'no connection (ECONNREFUSED)' },
      ])
  }
  expect(JSON.parse(good.received[0]?.text ?? '')).toMatchObject({ type: 'test', data: { webhook: 'good' } })
})
