import { describe, expect, it, onTestFinished } from 'vitest'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import {
  makeHeartbeatRequest,
  sendRoundHeartbeat,
} from '../../../src/features/heartbeat/send-round-heartbeat.ts'
import { HOUR } from '../../../src/kit/time.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { type Answering, openReceiver } from '../../kit/receiver.ts'
import { readTable } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { parseMetrics } from '../../program/web/rig.ts'

const SECRET_PATH = '/ping/0b8e2f6c-hidden'
const { signal } = new AbortController()

describe('the heartbeat', () => {
  const well: Answering = (response) => response.writeHead(200).end('OK')
  let answer = well
  const monitor = openForAll(() => openReceiver((response, received) => answer(response, received)))
  const folder = openForAll(() => openTempDir('heartbeat'))
  const rig = openForAll(() => {
    const env = { MUSETTE_HEARTBEAT_URL: `${monitor.url}${SECRET_PATH}`, MUSETTE_BACKUP_DIR: folder.path }
    return openRig({ activities: 2, env: { ...env, MUSETTE_HTTP: '127.0.0.1:0' } })
  })
  const round = async (startedAgoMs = HOUR, now = new Date()) => {
    monitor.received.length = 0
    const startedAt = new Date(Date.now() - startedAgoMs)
    await sendRoundHeartbeat(rig.app, { startedAt, now, signal })
    return monitor.received.map(({ path, text }) => [path, text])
  }
  const fails = [`${SECRET_PATH}/fail`, expect.any(String)]
  const newestRun = async () =>
    (
      await rig.rows(
        `select outcome, error_code, error from training.sync_runs where resource = 'heartbeat' order by run_id desc limit 1`,
      )
    )[0]

  it('is sent once the mirror is known to be in order', async () => {
    expect(await diagnose('heartbeat', rig.app)).toMatchObject([{ state: 'warning', run: 'musette start' }])
    expect(await round(0)).toEqual([])
    await pollActivities(rig.app.mirror, { account: rig.account })
    expect(await round()).toEqual([[SECRET_PATH, '']])
    expect(await newestRun()).toMatchObject({ outcome: 'done' })
    expect(await diagnose('heartbeat', rig.app)).toMatchObject([{ state: 'ok' }])
    expect((await findStatus(rig.app)).features.heartbeat).toMatchObject({
      done_at: expect.any(Date),
      problem: null,
    })
  })

  it.each([
    [
      'a login that ended',
      'update training.accounts set needs_login = true',
      'update training.accounts set needs_login = false',
      'needs login (account "default"); run: musette status',
    ],
    [
      'a file that waits',
      `insert into training.waiting_files (folder, path, code, reason, waiting_since, looked_at)
         select '/d', name, 'not_whole', 'it is not whole', now(), now() from unnest(array['a.fit', 'b.fit']) name`,
      'delete from training.waiting_files',
      'file waits; run: musette status',
    ],
  ])('reports %s in one sentence without a file name', async (_, breaks, mends, sentence) => {
    await rig.rows(breaks)
    expect(await round()).toEqual([[fails[0], sentence]])
    expect(await newestRun()).toMatchObject({ outcome: 'partial' })
    const told = { state: 'problem', found: expect.stringContaining('was told') }
    expect(await diagnose('heartbeat', rig.app)).toMatchObject([told])
    await rig.rows(mends)
    expect(await round()).toEqual([[SECRET_PATH, '']])
  })

  it('reports that polls are late', async () => {
    const [late] = await round(2 * HOUR, new Date(Date.now() + HOUR))
    expect(late).toEqual([fails[0], 'mirror stale (account "default"); run: musette status'])
  })

  it('fails with one sentence that does not contain the URL', async () => {
    answer = (response) => response.writeHead(500).end('no')
    const notTaken = { code: 'heartbeat_not_taken', message: expect.stringMatching(/HTTP 500$/) }
    expect(await round().catch((error: unknown) => error)).toMatchObject(notTaken)
    expect(await newestRun()).toMatchObject({ outcome: 'failed', error_code: 'heartbeat_not_taken' })
    const finding = { state: 'problem', found: expect.stringContaining('HTTP 500') }
    expect(await diagnose('heartbeat', rig.app)).toMatchObject([finding])
    const answers: ReadonlyArray<[Answering, string]> = [
      [(response) => response.writeHead(302, { location: 'http://elsewhere.invalid/' }).end(), 'HTTP 302'],
      [(response) => response.writeHead(200).end('OK (not found)'), 'knows no check'],
      [(response) => response.socket?.destroy(), 'no connection'],
    ]
    for (const [next, sentence] of answers) {
      answer = next
      await expect(round()).rejects.toThrow(sentence)
    }
    expect(JSON.stringify(rig.log.lines)).not.toContain('hidden')
    expect(JSON.stringify(await rig.rows('select * from training.sync_runs'))).not.toContain('hidden')
  })

  it('is sent by a daemon after its polls, and has a metric', async () => {
    answer = well
    const { mirror } = rig.app.config
    const config = { ...rig.app.config, mirror: { ...mirror, pollEveryMs: 1_000 } }
    monitor.received.length = 0
    const daemon = await openDaemon(config, rig.app.log, { roles: ['scheduler', 'worker', 'web'], signal })
    onTestFinished(() => daemon.close())
    const beats = () => monitor.received.filter(({ path }) => path === SECRET_PATH).length
    await eventually(() => beats() > 1, { everyMs: 200 })
    const page = await (await fetch(`${daemon.url}/metrics`)).text()
    expect(parseMetrics(page).get('musette_heartbeat_age_seconds')).toBeLessThan(60)
  })
})

it.each(
  readTable(`
https://hc-ping.com/u | | POST https://hc-ping.com/u
https://hc-ping.com/u | wrong | POST https://hc-ping.com/u/fail
https://hc.example.com/ping/k/slug/?create=1 | wrong | POST https://hc.example.com/ping/k/slug/fail?create=1
https://k.example.com/api/push/t | | GET https://k.example.com/api/push/t?status=up&msg=OK
https://k.example.com/api/push/t?msg=OK&ping= | a & b | GET https://k.example.com/api/push/t?msg=a+%26+b&ping=&status=down
https://k.example.com/api/push/t | ${'x'.repeat(300)} | GET https://k.example.com/api/push/t?status=down&msg=${'x'.repeat(199)}%E2%80%A6`),
)('the request of a heartbeat to %s of %j is a %s', (address = '', problem, expected) => {
  const { method, url } = makeHeartbeatRequest(address, problem || undefined)
  expect(`${method} ${url}`).toBe(expected)
})
