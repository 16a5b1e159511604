import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { HOUR } from '../../../src/kit/time.ts'
import { type Daemon, openDaemon } from '../../../src/program/daemon/daemon.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { END_CONNECTIONS } from '../../kit/postgres.ts'
import { openReceiver, type Receiver } from '../../kit/receiver.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { parseMetrics } from '../../program/web/rig.ts'
import { SECRET } from './receiver.ts'

const ACTIVITIES = 12
const OFTEN = { everyMs: 200 }

describe('a daemon with webhooks', () => {
  let rig: Rig
  let folder: TempDir
  let file: string
  let receiver: Receiver
  let phone: Receiver
  let daemon: Daemon
  beforeAll(async () => {
    folder = await openTempDir('webhooks')
    file = join(folder.path, 'webhooks.json')
    receiver = await openReceiver()
    phone = await openReceiver((response) => response.writeHead(200).end('{"id":"1"}'))
    const secret = `whsec_${SECRET.toString('base64')}`
    await writeFile(
      file,
      JSON.stringify([
        { name: 'home', style: 'standard', url: `${receiver.url}/hidden`, secret },
        {
          name: 'phone',
          style: 'ntfy',
          url: `${phone.url}/topic`,
          token: 'tk_hidden',
          events: ['login.lost'],
        },
      ]),
      { mode: 0o600 },
    )
    const env = { MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '1s', MUSETTE_WEBHOOKS: file }
    rig = await openRig({ activities: ACTIVITIES, env: { ...env, MUSETTE_HTTP: '127.0.0.1:0' } })
    const { config, log } = rig.app
    const roles = ['scheduler', 'worker', 'web'] as const
    daemon = await openDaemon(config, log, { roles, signal: new AbortController().signal })
  })
  afterAll(async () => {
    await daemon?.close()
    await rig?.close()
    for (const each of [receiver, phone, folder]) await each?.close()
  })

  const messages = () => receiver.received.map(({ text }) => JSON.parse(text))
  const findEvent = (type: string) =>
    eventually(() => messages().find((message) => message.type === type), OFTEN)

  it('sends a new activity with its scores, and the whole history before it in one message', async () => {
    await eventually(async () => {
      const [row] = await rig.rows(
        `select count(*)::int as n from training.activities where detail_state = 'mirrored'`,
      )
      return row?.n === ACTIVITIES
    }, OFTEN)
    await eventually(async () => (await rig.rows('select from musette.webhook_waiting')).length === 0, OFTEN)
    // The activities of the backfill were first seen within the last minutes.
    await rig.rows(`update training.activities set first_seen_at = first_seen_at - interval '1 hour'`)
    await rig.steer('POST', 'activities', { name: 'The new one', seconds: 300 })
    const { data, timestamp } = await findEvent('activity.new')
    expect(data).toMatchObject({ account: 'default', title: 'The new one', xss: expect.any(Number) })
    expect(Date.now() - Date.parse(timestamp)).toBeLessThan(HOUR)
    await rig.rows(`update musette.webhook_digests set last_at = last_at - interval '1 hour'`)
    expect((await findEvent('history.mirrored')).data).toMatchObject({ activities: ACTIVITIES })
    expect(
      messages()
        .map(({ type }) => type)
        .filter((type) => type !== 'breakthrough'),
    ).toEqual(['activity.new', 'history.mirrored'])
  })

  it('sends a lost login with the command to type, to the phone as well, after Postgres ended all connections', async () => {
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

  it('shows deliveries in status, doctor and metrics, without an address', async () => {
    // A receiver has a message before the daemon has recorded that it was delivered.
    await eventually(async () => {
      const [row] = await rig.rows("select from musette.webhook_messages where state = 'open'")
      return row === undefined
    }, OFTEN)
    expect((await findStatus(rig.app)).features.webhooks).toMatchObject([
      { webhook: 'home', open: 0, given_up: 0, last_error: null },
      { webhook: 'phone', open: 0, delivered: 1 },
    ])
    expect(await diagnose('webhooks', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/^webhook "home": last message delivered .* ago$/) },
      { state: 'ok' },
    ])
    const page = await eventually(async () => {
      const text = await (await fetch(`${daemon.url}/metrics`)).text()
      return (
        parseMetrics(text).get('musette_webhook_messages{webhook="phone",state="delivered"}') === 1 && text
      )
    }, OFTEN)
    const rows = JSON.stringify(await rig.rows('select * from musette.webhook_messages, musette.webhooks'))
    const ports = [receiver, phone].map(({ url }) => new URL(url).port)
    for (const text of [page, rows, rig.log.text()])
      for (const secret of ['hidden', SECRET.toString('base64'), ...ports.map((port) => `127.0.0.1:${port}`)])
        expect(text.includes(secret), secret).toBe(false)
  })

  it('is a finding of the doctor when others may read the file', async () => {
    await chmod(file, 0o644)
    const config = readConfig({ MUSETTE_WEBHOOKS: file })
    expect((await diagnose('webhooks', { ...rig.app, config }))[0]).toMatchObject({
      state: 'warning',
      run: `chmod 600 ${file}`,
    })
  })
})

describe('musette webhook test', () => {
  it('prints the answer, and its exit code says whether it was delivered', async () => {
    const folder = await openTempDir('webhook-test')
    const good = await openReceiver((response) => response.writeHead(200).end('thanks'))
    const bad = await openReceiver((response) => response.writeHead(403).end('who are you'))
    const away = await openReceiver()
    await away.close()
    try {
      const file = join(folder.path, 'webhooks.json')
      const secret = `whsec_${SECRET.toString('base64')}`
      const list = [
        { name: 'good', style: 'standard', url: good.url, secret },
        { name: 'bad', style: 'standard', url: bad.url, secret, events: ['login.lost'] },
        { name: 'away', style: 'standard', url: away.url, secret },
      ]
      await writeFile(file, JSON.stringify(list), { mode: 0o600 })
      const test = (args: readonly string[], env: Record<string, string> = { MUSETTE_WEBHOOKS: file }) =>
        runVerb(['webhook', 'test', ...args], { cwd: folder.path, env })
      const done = await test(['good'])
      expect(done).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^good: delivered, HTTP 200, after \d+ ms: thanks\n$/),
      })
      expect(JSON.parse(good.received[0]?.text ?? '')).toMatchObject({
        type: 'test',
        data: { webhook: 'good' },
      })
      expect(await test(['bad'])).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('bad: not delivered, HTTP 403'),
      })
      expect((await test(['away'])).code).toBe(4)
      const all = await test(['--json'])
      expect(all.code).toBe(5)
      expect(JSON.parse(all.stdout)).toMatchObject([
        { webhook: 'good', delivered: true, status: 200, error: null, answer: 'thanks' },
        { webhook: 'bad', delivered: false, status: 403, error: 'HTTP 403' },
        { webhook: 'away', delivered: false, status: null, error: 'no connection (ECONNREFUSED)' },
      ])
      expect(await test(['other'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('there are: good, bad, away'),
      })
      expect(await test([], {})).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('MUSETTE_WEBHOOKS is not set'),
      })
    } finally {
      for (const each of [good, bad, folder]) await each.close()
    }
  })
})
