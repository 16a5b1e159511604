import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { callTool, connectHttp, TOKEN } from '../features/mcp/rig.ts'
import { eventually } from '../kit/eventually.ts'
import { openForAll } from '../kit/open-for.ts'
import { makeRide } from '../kit/ride.ts'
import { whole } from '../kit/sampling.ts'
import { openCliRig } from '../program/cli/rig.ts'

/** Number of moments at which Postgres ends each command's connections, and number of times that it ends the daemon's. */
const [MOMENTS, ROUNDS] = whole ? [100, 200] : [1, 8]
vi.setConfig({ testTimeout: 150_000 + MOMENTS * 15_000 })

const rig = openForAll(() => openCliRig({ activities: 12, isSignedIn: true }))

/** The connections of a daemon, by name. */
const HELD = ['musette', 'musette queue', 'musette accounts', 'musette changes', 'musette mcp']

/** Ends musette's connections, as a restart of Postgres does, and returns their names. */
const endOurs = async () => {
  const ended =
    await rig.rows(`select application_name as name, pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name ~ '^musette'`)
  return ended.map(({ name }) => String(name))
}

it.each([
  'sync --full',
  'resync --since 2000-01-01',
  'verify --all',
  'rebuild',
  'backup kept.tar',
  'export --all --to history',
  'sql select(pg_sleep(0.1))',
  'changes',
  'upload ride.fit',
  'key rotate',
  'migrate',
  'doctor',
])('a command completes or reports it if Postgres ends its connections: %s', async (line) => {
  const args = line.split(' ')
  await writeFile(join(rig.dataDir, 'ride.fit'), makeRide())
  const startedAt = performance.now()
  await rig.musette(args)
  const tookMs = performance.now() - startedAt
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    const running = rig.musette(args)
    await delay(Math.random() * tookMs)
    await endOurs()
    const { code, stderr } = await running
    expect([code, stderr]).toEqual([
      expect.toBeOneOf([0, 4, 5]),
      expect.not.stringMatching(/\n {4}at |uncaught|unhandled/i),
    ])
  }
})

it('a daemon keeps working if Postgres ends its connections at any moment', async () => {
  const drop = join(rig.dataDir, 'drop')
  await mkdir(drop, { recursive: true })
  const daemon = rig.start(['start'], {
    env: {
      MUSETTE_POLL_EVERY: '1s',
      MUSETTE_LAG: '1s',
      MUSETTE_HTTP_TOKEN: TOKEN,
      MUSETTE_MQTT_URL: 'mqtt://127.0.0.1:1',
      MUSETTE_EXPORT_DIR: join(rig.dataDir, 'exported'),
      MUSETTE_BACKUP_DIR: join(rig.dataDir, 'backups'),
    },
  })
  const follower = rig.start(['changes', '--follow', '--json'])
  onTestFinished(async () => void (await Promise.all([daemon, follower].map((each) => each.kill('SIGKILL')))))
  const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
  const headers = { authorization: `Bearer ${TOKEN}` }
  const assistant = await connectHttp(url)
  const ended = new Set<string>()
  for (let round = 0; round < ROUNDS || HELD.some((name) => !ended.has(name)); round += 1) {
    const asked = Promise.allSettled([
      callTool(assistant, 'run_query', { sql: 'select pg_sleep(0.3)' }),
      ...['/api/today', '/readyz', '/metrics'].map((path) => fetch(`${url}${path}`, { headers })),
    ])
    await writeFile(join(drop, `${round}.fit`), makeRide({ seed: 10 + round }))
    await rig.steer('POST', 'recalculate')
    await delay(Math.random() * 300)
    for (const name of await endOurs()) ended.add(name)
    await asked
  }
  const { path } = await rig.steer('POST', 'activities', { name: 'The new one', seconds: 300 })
  const found = `select from training.activities where path = $1 and detail_state = 'mirrored'`
  await eventually(async () => (await rig.rows(found, [path])).length === 1, { everyMs: 200 })
  await eventually(() => follower.stdout().includes(`"${path}"`), { everyMs: 200 })
  expect((await fetch(`${url}/api/today`, { headers })).status).toBe(200)
  expect(await follower.kill('SIGINT')).toMatchObject({ code: 0 })
  expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 })
})
