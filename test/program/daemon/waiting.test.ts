import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { makeReleaseStack, type ReleaseStack } from '../../../src/kit/release-stack.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { ROLES } from '../../../src/program/daemon/roles.ts'
import { tryDatabase } from '../../../src/program/daemon/wait-for-servers.ts'
import { exitFor } from '../../../src/program/frame/context.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { readMigrations } from '../../kit/later-migrations.ts'
import { findFreePort, listen } from '../../kit/listen.ts'
import { makeSilentLog, makeTestLog } from '../../kit/log.ts'
import { openHold, openTestDatabase, queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { distPath, type Running, startNode } from '../../kit/processes.ts'
import { describeWithRedis, openOwnRedis } from '../../kit/redis.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const SLOW = 180_000
const SOON = { timeoutMs: 90_000, everyMs: 200 }
const SIGN_IN = ['login', '--username', 'rider', '--password-stdin']

let release: ReleaseStack
let dataDir: string
beforeEach(async () => {
  release = makeReleaseStack()
  const folder = await openTempDir('waiting')
  release.defer('folder', () => folder.close())
  dataDir = folder.path
})
afterEach(() => release.release())

const envOf = (env: Record<string, string>) => ({ MUSETTE_DATA_DIR: dataDir, MUSETTE_HTTP: 'off', ...env })

function start(env: Record<string, string>, args: readonly string[] = []): Running {
  const running = startNode([distPath('main.js'), 'start', ...args], { cwd: dataDir, env: envOf(env) })
  release.defer('daemon', () => running.kill('SIGKILL'))
  return running
}

const run = (args: readonly string[], env: Record<string, string>, input?: string) =>
  runVerb(args, { cwd: dataDir, env: envOf(env), ...(input && { input }) })

/** Opens a daemon that does not come up in this process, and returns how `musette start` ends then, and what was logged. */
async function refusalOf(env: Record<string, string>) {
  const config = readConfig(envOf(env))
  const { log, text } = makeTestLog()
  const { signal } = new AbortController()
  const error = await openDaemon(config, log, { roles: ROLES, signal }).then(
    (daemon) => daemon.close(),
    (error: unknown) => error,
  )
  return { ...exitFor(error, { config }), logged: text() }
}

async function openEmpty(): Promise<string> {
  const database = await openTestDatabase({ migrated: false })
  release.defer('database', () => database.close())
  return database.url
}

describeWithRedis('a daemon that starts before its servers', () => {
  it(
    'waits for both, names them in the log and in /readyz, then sets up the empty database',
    async () => {
      const folder = await openTempDir('late')
      release.defer('folder of Postgres', () => folder.close())
      const open = () => openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir: folder.path })
      const { url } = await open().then(async (server) => {
        await server.close()
        return server
      })
      const redis = await openOwnRedis()
      release.defer('redis', () => redis.close())
      await redis.kill()
      const port = await findFreePort()
      const daemon = start({ DATABASE_URL: url, REDIS_URL: redis.url, MUSETTE_HTTP: `127.0.0.1:${port}` })
      const parts = async (): Promise<Record<string, string>> =>
        JSON.parse(await (await fetch(`http://127.0.0.1:${port}/readyz`)).text()).parts
      await daemon.waitForLine(/waiting for the database, which DATABASE_URL names, .*ECONNREFUSED/, 90_000)
      await daemon.waitForLine(/waiting for the queue, which REDIS_URL names, .*ECONNREFUSED/)
      const waits = 'not up yet; musette waits for it'
      expect(await eventually(parts, SOON)).toEqual({ database: waits, queue: waits })
      const page = await fetch(`http://127.0.0.1:${port}/`)
      expect(page.status).toBe(503)
      expect(await page.text()).toContain('waits for the database and queue')
      await redis.start()
      await eventually(async () => Object.keys(await parts()).join() === 'database', SOON)
      const postgres = await open()
      release.defer('postgres', () => postgres.close())
      expect(postgres.url).toBe(url)
      await daemon.waitForLine(/"msg":"over: waiting for the database/)
      await daemon.waitForLine(/"msg":"set up the empty database"/)
      await daemon.waitForLine(/"msg":"started"/, 90_000)
      expect(await eventually(parts, SOON)).toMatchObject({ database: 'ok', queue: 'ok' })
      expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
    },
    SLOW,
  )

  it('does not wait when Redis refuses the password', async () => {
    const redis = await openOwnRedis()
    release.defer('redis', () => redis.close())
    const url = redis.url.replace('redis://', 'redis://nobody:wrong-password@')
    const refused = await refusalOf({ DATABASE_URL: await openEmpty(), REDIS_URL: url })
    expect(refused.code).toBe(2)
    expect(refused.sentence).toContain(
      'Redis refused the login (WRONGPASS); write user and password into REDIS_URL',
    )
    expect(refused.sentence + refused.logged).not.toContain('wrong-password')
  })
})

describe('a daemon whose database', () => {
  it('never answers can be stopped', async () => {
    const silent = createServer((socket) => void socket.on('error', () => undefined))
    const port = await listen(silent)
    release.defer('server', async () => void silent.close())
    const daemon = start({ DATABASE_URL: `postgres://rider@127.0.0.1:${port}/musette` })
    await daemon.waitForLine(/waiting for the database.*no answer/, 90_000)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
  })

  it.each([
    ['password is wrong', { password: 'wrong-password' }, 'password authentication failed'],
    ['does not exist', { pathname: '/nowhere' }, 'database "nowhere" does not exist'],
  ])('%s is refused at once', async (_what, change, sentence) => {
    const url = Object.assign(new URL(await openEmpty()), change)
    const refused = await refusalOf({ DATABASE_URL: url.href })
    expect(refused.code).toBe(2)
    expect(refused.sentence).toContain(sentence)
    expect(refused.sentence).toContain('correct DATABASE_URL')
    expect(refused.sentence + refused.logged).not.toContain('wrong-password')
  })

  it('is still starting is not up yet', async () => {
    const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', '']
    const body = Buffer.from(fields.map((field) => `${field}\0`).join(''))
    const head = Buffer.alloc(5)
    head.write('E')
    head.writeInt32BE(body.length + 4, 1)
    const starting = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(Buffer.concat([head, body])))
    })
    const port = await listen(starting)
    release.defer('server', async () => void starting.close())
    const { signal } = new AbortController()
    const url = `postgres://rider@127.0.0.1:${port}/musette`
    expect(await tryDatabase(url, { signal, withinMs: 60_000 })).toBe('the database system is starting up')
    expect(await tryDatabase('postgres://rider@name.invalid/musette', { signal, withinMs: 60_000 })).toMatch(
      /ENOTFOUND|EAI_AGAIN/,
    )
  })
})

describe('an empty database of the rider', () => {
  it(
    'is set up once by several daemons and a login at once',
    async () => {
      const url = await openEmpty()
      const env = { DATABASE_URL: url, MUSETTE_BASE_URL: 'http://127.0.0.1:9' }
      // None of them can begin before all of them want to.
      const hold = await openHold(url, 'CREATE SCHEMA training')
      const daemons = [1, 2, 3].map(() => start(env, ['--roles', 'worker']))
      const signingIn = run(SIGN_IN, env, 'rider')
      const allWait = async () => (await queryOnce(url, WAITING_FOR_LOCK)).length === daemons.length + 1
      await eventually(allWait, { what: 'everybody at a lock' }).finally(hold.close)
      const signedIn = await signingIn
      expect(signedIn.stderr).not.toContain('database')
      for (const daemon of daemons) await daemon.waitForLine(/"msg":"started"/, 90_000)
      expect(await queryOnce(url, 'select hash from musette.migrations')).toHaveLength(
        (await readMigrations()).length,
      )
    },
    SLOW,
  )

  it('is left empty by verbs that only read, which name the verb that sets it up', async () => {
    const env = { DATABASE_URL: await openEmpty() }
    for (const verb of ['status', 'accounts', 'changes']) {
      const { code, stderr } = await run([verb], env)
      expect(code, verb).toBe(3)
      expect(stderr, verb).toContain('the database is empty; run: musette login')
    }
    const schemas = "select nspname from pg_namespace where nspname in ('training', 'musette')"
    expect(await queryOnce(env.DATABASE_URL, schemas)).toEqual([])
    const migrated = await run(['migrate'], env)
    const migrations = await readMigrations()
    const last = migrations.at(-1)
    expect(migrated.stdout).toContain(
      `made the tables in the empty database: ${migrations.length} migrations, now at ${last}\n`,
    )
    const again = await run(['migrate'], env)
    expect(again.stdout.startsWith(`nothing to do: the database is at ${last}`)).toBe(true)
  })

  it('is not set up where another program has its tables', async () => {
    const url = await openEmpty()
    await queryOnce(url, 'create table invoices (invoice_id int)')
    const refused = await refusalOf({ DATABASE_URL: url })
    expect(refused.code).toBe(2)
    expect(refused.sentence).toMatch(
      /tables that musette did not make, such as public.invoices; .*musette migrate/,
    )
  })
})
