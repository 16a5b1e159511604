import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { ROLES } from '../../../src/program/daemon/roles.ts'
import { tryDatabase } from '../../../src/program/daemon/wait-for-servers.ts'
import { exitFor } from '../../../src/program/frame/context.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { readMigrations } from '../../kit/later-migrations.ts'
import { findFreePort, listen } from '../../kit/listen.ts'
import { makeSilentLog, makeTestLog } from '../../kit/log.ts'
import { openForEach, openForTest } from '../../kit/open-for.ts'
import { openHold, openTestDatabase, queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { distPath, type Running, startNode } from '../../kit/processes.ts'
import { describeWithRedis, openOwnRedis } from '../../kit/redis.ts'
import { readEnv, readTable } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const SLOW = 180_000
const SOON = { timeoutMs: 90_000, everyMs: 200 }

const folder = openForEach(() => openTempDir('waiting'))

const envOf = (env: Record<string, string>) => ({
  MUSETTE_DATA_DIR: folder.path,
  MUSETTE_HTTP: 'off',
  ...env,
})

function start(env: Record<string, string>, args: readonly string[] = []): Running {
  const running = startNode([distPath('main.js'), 'start', ...args], { cwd: folder.path, env: envOf(env) })
  onTestFinished(async () => void (await running.kill('SIGKILL')))
  return running
}

const openEmpty = async () => (await openForTest(openTestDatabase({ migrated: false }))).url

/** Opens a server that calls `receive` with each connection, and returns the URL of a database there. */
async function openServer(receive: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => receive(socket.on('error', () => undefined)))
  const port = await listen(server)
  onTestFinished(() => void server.close())
  return `postgres://rider@127.0.0.1:${port}/musette`
}

describeWithRedis('a daemon that starts before its servers', () => {
  it(
    'waits for both, names them in the log and in /readyz, then sets up the empty database',
    async () => {
      const dataDir = join(folder.path, 'late')
      const open = () => openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir })
      const before = await open()
      await before.close()
      const { url } = before
      const redis = await openForTest(openOwnRedis())
      await redis.kill()
      const port = await findFreePort()
      const daemon = start({ DATABASE_URL: url, REDIS_URL: redis.url, MUSETTE_HTTP: `127.0.0.1:${port}` })
      const parts = async (): Promise<Record<string, string>> =>
        JSON.parse(await (await fetch(`http://127.0.0.1:${port}/readyz`)).text()).parts
      await daemon.waitForLine(/waiting for the database \(DATABASE_URL\) to be up: .*ECONNREFUSED/, 90_000)
      await daemon.waitForLine(/waiting for the queue \(REDIS_URL\) to be up: .*ECONNREFUSED/)
      const waits = 'not up yet; musette waits for it'
      expect(await eventually(parts, SOON)).toEqual({ database: waits, queue: waits })
      const page = await fetch(`http://127.0.0.1:${port}/`)
      expect(page.status).toBe(503)
      expect(await page.text()).toContain('waits for the database and queue')
      await redis.start()
      await eventually(async () => Object.keys(await parts()).join() === 'database', SOON)
      const postgres = await openForTest(open())
      expect(postgres.url).toBe(url)
      await daemon.waitForLine(/"msg":"over: waiting for the database/)
      await daemon.waitForLine(/"msg":"set up the empty database"/)
      await daemon.waitForLine(/"msg":"there is no account yet; run: musette login"/, 90_000)
      await daemon.waitForLine(/"msg":"started"/, 90_000)
      expect(await eventually(parts, SOON)).toMatchObject({ database: 'ok', queue: 'ok' })
      expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
    },
    SLOW,
  )
})

describe('a daemon whose database', () => {
  it('never answers can be stopped', async () => {
    const daemon = start({ DATABASE_URL: await openServer(() => undefined) })
    await daemon.waitForLine(/waiting for the database.*no answer/, 90_000)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
  })

  it('is starting, or has an unknown host name, is not up yet', async () => {
    const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', '']
    const body = Buffer.from(fields.map((field) => `${field}\0`).join(''))
    const head = Buffer.alloc(5)
    head.write('E')
    head.writeInt32BE(body.length + 4, 1)
    const url = await openServer((socket) => {
      socket.once('data', () => socket.end(Buffer.concat([head, body])))
    })
    const what = { signal: new AbortController().signal, withinMs: 60_000 }
    expect(await tryDatabase(url, what)).toEqual({ reason: 'the database system is starting up' })
    const unknown = await tryDatabase('postgres://rider@name.invalid/musette', what)
    expect(unknown?.reason).toMatch(/ENOTFOUND|EAI_AGAIN/)
  })

  // Columns: what is wrong, a part of its URL, the message, a statement on the database.
  it.each(
    readTable(String.raw`
    password is wrong | password=wrong-pass | password authentication failed.*correct DATABASE_URL |
    does not exist | pathname=/nowhere | database "nowhere" does not exist.*correct DATABASE_URL |
    has tables of another program | | tables that musette did not make, such as public.invoices; .*musette migrate | create table invoices (invoice_id int)
    is there, but whose Redis refuses the password | | Redis refused the login \(WRONGPASS\); set user and password in REDIS_URL |`),
  )('%s is refused at once', async (what = '', part = '', says = '', statement = '') => {
    const url = await openEmpty()
    if (statement) await queryOnce(url, statement)
    const env: Record<string, string> = { DATABASE_URL: Object.assign(new URL(url), readEnv(part)).href }
    if (what.includes('Redis')) {
      const redis = await openForTest(openOwnRedis())
      env.REDIS_URL = redis.url.replace('redis://', 'redis://nobody:wrong-pass@')
    }
    const config = readConfig(envOf(env))
    const { log, text } = makeTestLog()
    const { signal } = new AbortController()
    const error = await openDaemon(config, log, { roles: ROLES, signal }).then(
      (daemon) => daemon.close(),
      (error: unknown) => error,
    )
    const refused = exitFor(error, { config })
    expect(refused.code).toBe(2)
    expect(refused.sentence).toMatch(new RegExp(says))
    expect(refused.sentence + text()).not.toContain('wrong-pass')
  })
})

describe('an empty database of the rider', () => {
  it(
    'is set up once by several daemons and a login at once',
    async () => {
      const url = await openEmpty()
      const env = { DATABASE_URL: url, MUSETTE_BASE_URL: 'http://127.0.0.1:9' }
      // None of them can begin before all of them are waiting.
      const hold = await openHold(url, 'CREATE SCHEMA training')
      const daemons = [1, 2].map(() => start(env, ['--roles', 'worker']))
      const login = ['login', '--username', 'rider', '--password-stdin']
      const signingIn = runVerb(login, { cwd: folder.path, env: envOf(env), input: 'rider' })
      const allWait = async () => (await queryOnce(url, WAITING_FOR_LOCK)).length === daemons.length + 1
      await eventually(allWait, { what: 'everybody at a lock' }).finally(hold.close)
      expect((await signingIn).stderr).not.toContain('database')
      for (const daemon of daemons) await daemon.waitForLine(/"msg":"started"/, 90_000)
      const hashes = await queryOnce(url, 'select hash from musette.migrations')
      expect(hashes).toHaveLength((await readMigrations()).length)
    },
    SLOW,
  )
})
