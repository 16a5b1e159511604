import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { createServer, connect as netConnect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FILE_ID_ACTIVITY, wrap } from '../../core/fit/wrap.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { listen } from '../../kit/listen.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import type { Running } from '../../kit/processes.ts'
import { LONGEST_ACTIVITY_SECONDS, makeRide } from '../../kit/ride.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'

const ACTIVITIES = 16
const STOPPED = { code: 0, signal: null }

let rig: CliRig
const running: Running[] = []
afterEach(async () => {
  for (const each of running.splice(0)) await each.kill('SIGKILL')
})
afterAll(() => rig?.close())

async function open(options: { activities: number; queue?: string }): Promise<void> {
  await rig?.close()
  rig = await openCliRig({ ...options, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS })
}

async function signIn(baseUrl = rig.sandboxUrl): Promise<void> {
  const login = ['login', '--username', 'rider', '--password-stdin']
  const signed = await rig.musette(login, { input: 'rider', env: { MUSETTE_BASE_URL: baseUrl } })
  expect(signed).toMatchObject({ code: 0 })
}

async function start(env: Record<string, string> = {}): Promise<Running> {
  const daemon = rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '30s', ...env } })
  running.push(daemon)
  await daemon.waitForLine(/"msg":"started"/)
  return daemon
}

const rows = (text: string) => queryOnce(rig.databaseUrl, text)
const steer = (method: string, path: string, body?: unknown) => rig.steer(method, path, body)
const faultHit = () =>
  eventually(async () => {
    const { faults } = await rig.steer<{ faults: Array<{ hits: number }> }>('GET', 'faults')
    return faults.some(({ hits }) => hits > 0)
  })
const expectMirroredSoon = () => eventually(() => expectMirrored(rig).then(() => true), { everyMs: 500 })

// How a queue stops is shown on both kinds of it in test/jobs.
describe('a daemon that is stopped', () => {
  it('during a backfill leaves whole rides only, and the next one continues', async () => {
    await open({ activities: ACTIVITIES, queue: 'redis' })
    await signIn()
    await steer('PATCH', 'settings', { latency_ms: 60 })
    const daemon = await start({ MUSETTE_CONCURRENCY: '2' })
    await eventually(async () => (await rows(MIRRORED)).length >= 3)
    expect(await daemon.kill('SIGTERM')).toMatchObject(STOPPED)
    const before = await rows(MIRRORED)
    expect(before.length).toBeLessThan(ACTIVITIES)
    for (const row of before) expect(row.samples).toBe(row.sample_count)
    expect(await rows(ORPHANS)).toEqual([])
    expect(await rows(`select * from training.sync_runs where outcome = 'running'`)).toEqual([])
    await steer('PATCH', 'settings', { latency_ms: 0 })
    await steer('POST', 'counts/reset')
    const next = await start()
    await expectMirroredSoon()
    // Rides that were whole are not fetched again: what is asked for is the rest, and what each answer's summary needs.
    const { requests } = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
    const fetched = requests['GET /oauth/activity/:path'] ?? 0
    expect(fetched).toBeGreaterThanOrEqual(ACTIVITIES - before.length)
    expect(fetched).toBeLessThanOrEqual(ACTIVITIES)
    expect(await next.kill('SIGTERM')).toMatchObject(STOPPED)
  }, 120_000)
})

const MIRRORED = `select a.activity_id, sample_count, (select count(*)::int from training.samples s where s.activity_id = a.activity_id) as samples
  from training.activities a where detail_state = 'mirrored'`
const ORPHANS = `select activity_id from training.samples
  where activity_id not in (select activity_id from training.activities where detail_state = 'mirrored') limit 1`

describe('a daemon that is stopped', () => {
  beforeAll(async () => {
    await open({ activities: 4 })
    await signIn()
  })

  it('during a token refresh waits for the answer and stores the new pair, which the next one uses', async () => {
    await steer('PATCH', 'settings', { reuse_revokes_grant: true })
    await steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 3_000 })
    await steer('POST', 'tokens/expire')
    const daemon = await start()
    await faultHit()
    expect(await daemon.kill('SIGTERM')).toMatchObject(STOPPED)
    expect(await readdir(rig.dataDir)).not.toContainEqual(expect.stringContaining('.spool'))
    const next = await start()
    await expectMirroredSoon()
    const { tokens } = await rig.steer<{ tokens: Record<string, number> }>('GET', 'counts')
    expect(tokens).toMatchObject({ password: 1, refresh_token: 1, rejected: 0 })
    expect(await rows('select needs_login from training.accounts')).toEqual([{ needs_login: false }])
    expect(await next.kill('SIGTERM')).toMatchObject(STOPPED)
  })

  it('while the database is away ends, and the next one continues', async () => {
    await rows('truncate training.activities, training.samples, training.sync_cursors cascade')
    const line = await openLine(rig.databaseUrl)
    try {
      const daemon = await start({ DATABASE_URL: line.url })
      line.become('cut')
      await daemon.waitForLine(/"level":40.*database/)
      expect(await daemon.kill('SIGTERM')).toMatchObject(STOPPED)
    } finally {
      await line.close()
    }
    const next = await start()
    await expectMirroredSoon()
    expect(await next.kill('SIGTERM')).toMatchObject(STOPPED)
  }, 120_000)
})

describe('a daemon that is stopped during an upload', () => {
  let narrow: Narrow
  beforeAll(async () => {
    await open({ activities: 0 })
    narrow = await openNarrow(rig.sandboxUrl)
    await signIn(narrow.url)
  })
  afterAll(() => narrow.close())

  it.each([
    [
      'with half a body ends, and the next one uploads the file once',
      {
        name: 'half.fit',
        bytes: () => Buffer.concat([makeRide({ start: '2026-05-01T08:00:00Z' }), makeLargeFile()]),
        fault: undefined,
        attempts: expect.any(Number),
      },
    ],
    [
      'that is accepted but not answered ends, and the next one finds the activity and sends nothing',
      {
        name: 'unanswered.fit',
        bytes: () => makeRide({ start: '2026-05-02T08:00:00Z' }),
        fault: { kind: 'slow', duration_ms: 600_000 },
        attempts: 1,
      },
    ],
    [
      'that is neither accepted nor answered ends, and the next one checks before it sends',
      {
        name: 'stalled.fit',
        bytes: () => makeRide({ start: '2026-05-03T08:00:00Z' }),
        fault: { kind: 'stall' },
        attempts: 2,
      },
    ],
  ])('%s', async (_what, { name, bytes, fault, attempts }) => {
    await rows('delete from training.uploads')
    await steer('POST', 'counts/reset')
    await steer('DELETE', 'faults')
    if (fault) await steer('POST', 'faults', { path: '^/oauth/upload$', ...fault })
    else narrow.stick()
    const daemon = await start()
    const folder = join(rig.dataDir, 'drop')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'ride.part'), bytes())
    await rename(join(folder, 'ride.part'), join(folder, name))
    await (fault ? faultHit() : eventually(() => narrow.stuck() > 0))
    expect(await daemon.kill('SIGTERM')).toMatchObject(STOPPED)
    const upload = async () => (await rows('select state, attempts, reason from training.uploads'))[0]
    const accepted = async () =>
      (await rig.steer<{ uploads: { accepted: number } }>('GET', 'counts')).uploads.accepted
    if (fault) expect(await upload()).toMatchObject({ state: 'unconfirmed', attempts: 1 })
    else {
      expect(await accepted()).toBe(0)
      expect((await upload())?.state).not.toBe('sending')
      narrow.free()
    }
    // The minutes pass in which a lost answer is looked for before a file is sent again.
    await rows(`update training.uploads set next_try_at = now(), resend_after = now() where state <> 'seen'`)
    const next = await start()
    const isDone = async () => {
      const names = await readdir(join(folder, 'done'), { recursive: true }).catch(() => [])
      const state = (await upload())?.state
      return names.some((each) => each.endsWith(name)) && (state === 'accepted' || state === 'mirrored')
    }
    await eventually(isDone)
    expect(await accepted()).toBe(1)
    expect(await next.kill('SIGTERM')).toMatchObject(STOPPED)
    expect(await upload()).toMatchObject({ attempts })
  })
})

/** Makes a FIT file of 10 MB that is quickly read: larger than what the two ends of a connection take in without being read. */
function makeLargeFile(): Buffer {
  const definition = [0x41, 0, 0, 0x00, 0xff, 1, 0, 250, 0x0d]
  const message = Buffer.alloc(251)
  message[0] = 1
  return wrap(
    Buffer.concat([Buffer.from([...FILE_ID_ACTIVITY, ...definition]), ...new Array(40_000).fill(message)]),
  )
}

/** A way to the service on which uploads can get stuck: nothing more is read of them. */
type Narrow = {
  url: string
  /** from now on a connection on which an upload begins is not read any further */
  stick(): void
  /** how many uploads are stuck */
  stuck(): number
  /** lets everything through again; what was stuck is gone */
  free(): void
  close(): Promise<void>
}

/** Opens a way to the service at `url`. */
async function openNarrow(url: string): Promise<Narrow> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const stuck = new Set<Socket>()
  let sticks = false
  const server = createServer((client) => {
    const upstream = netConnect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        stuck.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.on('data', (chunk) => void client.write(chunk))
    client.on('data', (chunk: Buffer) => {
      if (!sticks || !chunk.includes('POST /oauth/upload')) return void upstream.write(chunk)
      stuck.add(client)
      client.pause()
    })
  })
  const port = await listen(server)
  const free = () => {
    sticks = false
    for (const socket of stuck) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stick() {
      sticks = true
    },
    stuck: () => stuck.size,
    free,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
