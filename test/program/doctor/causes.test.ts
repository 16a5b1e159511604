import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createHttp2Server, createSecureServer as createSecureHttp2Server } from 'node:http2'
import { createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { makeCertificates } from '../../kit/certificates.ts'
import { openHttpProxy } from '../../kit/http-proxy.ts'
import { findFreePort, listen } from '../../kit/listen.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { type Keep, openTogether } from '../../kit/open-together.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import { readEnv, readTable } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTlsFront } from '../../kit/tls-front.ts'
import { look, type } from './rig.ts'

/** The servers of the situations, by the addresses of each. */
const at = openForAll(() => openTogether(openPlaces))

async function openPlaces(keep: Keep) {
  const folder = await keep(openTempDir('causes'))
  await makeCertificates(folder.path)
  const sandbox = await keep(startSandbox({ activities: 1, longestActivitySeconds: 60 }))
  const database = await keep(openTestDatabase())
  const redis = await keep(openOwnRedis())
  const locked = await keep(openOwnRedis())
  const client = new Redis(locked.url)
  await client.config('SET', 'requirepass', 'hunter2')
  client.disconnect()
  const front = async (address: string) => (await keep(openTlsFront(folder.path, address))).port
  const answering = async (answer: object) => {
    const server = createServer((_request, response) => response.end(JSON.stringify(answer)))
    await keep(server)
    return listen(server)
  }
  // Like most web servers it answers what is no TLS in plain text.
  const plain = await keep(
    createPlainServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad\r\n\r\n')),
  )
  const [cert, key] = await Promise.all(
    ['server.crt', 'server.key'].map((name) => readFile(join(folder.path, name))),
  )
  const http2 = await keep(createHttp2Server())
  const https2 = await keep(createSecureHttp2Server({ cert, key }))
  const [row] = await queryOnce(database.url, 'select identity from training.database')
  const { url: proxy } = await keep(openHttpProxy(sandbox.url))
  const host = `127.0.0.1:${await front(inject('postgresUrl'))}`
  const tlsDatabase = Object.assign(new URL(database.url), { host, search: '' }).href
  return {
    dir: folder.path,
    ...{ sandbox: sandbox.url, database: database.url, redis: redis.url, redisPort: new URL(redis.url).port },
    ...{ locked: locked.url, wrongRedis: locked.url.replace('//', '//:wrong@') },
    ...{ wrongProxy: proxy.replace('proxy-secret', 'x'), plain: await listen(plain) },
    ...{ tlsService: await front(sandbox.url), tlsRedis: await front(redis.url) },
    ...{ tlsDatabase, tlsNamedDatabase: tlsDatabase.replace('127.0.0.1', 'localhost') },
    ...{ http2: await listen(http2), https2: await listen(https2) },
    none: await findFreePort(),
    stranger: await answering({ hello: 'world' }),
    other: await answering({ ready: true, parts: {}, identity: 'of-another' }),
    own: await answering({ ready: true, parts: {}, identity: String(row?.identity) }),
  }
}

/** Looks with the settings of a mirror in order, and these. */
const lookWith = (check: string, settings: string) => {
  const places: Readonly<Record<string, unknown>> = at
  const text = settings.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(places[name]))
  return look(check, {
    MUSETTE_DATA_DIR: join(at.dir, 'data'),
    MUSETTE_BASE_URL: at.sandbox,
    DATABASE_URL: at.database,
    ...readEnv(text),
  })
}

/**
 * What is broken | the check | its settings, with places of `at` in braces | the kind of the finding | what it says first | what it never says.
 */
const CAUSES = readTable(String.raw`
a proxy that does not run | service | MUSETTE_BASE_URL=https://service.invalid HTTPS_PROXY=http://127.0.0.1:9 | unreachable | ^the proxy http://127.0.0.1:9 cannot be used \(ECONNREFUSED\).*HTTPS_PROXY |
a proxy that wants another password | service | MUSETTE_BASE_URL=https://service.invalid HTTPS_PROXY={wrongProxy} | unreachable | ^the proxy http://127.0.0.1:\d+ requires a user and a password | secret
https to a port without TLS | service | MUSETTE_BASE_URL=https://127.0.0.1:{plain} | unreachable | the server does not speak TLS.*MUSETTE_BASE_URL must begin with https: or http: |
http to a port with TLS | service | MUSETTE_BASE_URL=http://localhost:{tlsService} | unreachable | the connection was lost \(UND_ERR_SOCKET\).*MUSETTE_BASE_URL must begin with https: or http: |
a server that speaks HTTP/2 only, without TLS | service | MUSETTE_BASE_URL=http://127.0.0.1:{http2} | unreachable | the server at http://127.0.0.1:\d+ speaks HTTP/2 only, and musette HTTP/1.1; .*offer HTTP/1.1, too | TLS
a server that speaks HTTP/2 only, with TLS | service | MUSETTE_BASE_URL=https://localhost:{https2} | unreachable | the server at https://localhost:\d+ speaks HTTP/2 only, and musette HTTP/1.1; .*offer HTTP/1.1, too | does not speak TLS
a certificate of an own authority | service | MUSETTE_BASE_URL=https://localhost:{tlsService} | unreachable | is signed by an unknown authority.*NODE_EXTRA_CA_CERTS | clock|curl
a Redis that wants a password | redis | REDIS_URL={locked} | configuration | ^Redis refused the login \(NOAUTH\); set user and password in REDIS_URL | runs
a Redis that wants another password | redis | REDIS_URL={wrongRedis} | configuration | ^Redis refused the login \(WRONGPASS\) | runs|wrong@
a Redis with a certificate of an own authority | redis | REDIS_URL=rediss://localhost:{tlsRedis} | unreachable | ^the certificate of Redis is signed by an unknown authority.*NODE_EXTRA_CA_CERTS | runs
redis: to a Redis with TLS | redis | REDIS_URL=redis://localhost:{tlsRedis} | unreachable | ^Redis cannot be reached \(.*closed.*redis: without TLS, rediss: with TLS |
a database with a certificate for another host name | database | DATABASE_URL={tlsDatabase}?sslmode=verify-full&sslrootcert={dir}/ca.crt | unreachable | ^the certificate of the database is for another host name.*use its host name in DATABASE_URL$ | require|runs
a database with a certificate of an own authority | database | DATABASE_URL={tlsNamedDatabase}?sslmode=verify-full | unreachable | is signed by an unknown authority.*sslrootcert of DATABASE_URL$ | require|runs
no daemon | daemon | MUSETTE_HTTP=127.0.0.1:{none} | | ^none runs, so nothing is mirrored by itself: no answer from 127.0.0.1:\d+ \(.*ECONNREFUSED |
another program on the port of the daemon | daemon | MUSETTE_HTTP=127.0.0.1:{stranger} | configuration | ^another program has 127.0.0.1:\d+ |
a program there that does not speak HTTP | daemon | MUSETTE_HTTP=127.0.0.1:{redisPort} | configuration | ^another program has 127.0.0.1:\d+ |
the daemon of another database | daemon | MUSETTE_HTTP=127.0.0.1:{other} | configuration | ^the daemon of another database has 127.0.0.1:\d+ |`)

describe('the cause of a failure', () => {
  it.each(CAUSES)(
    'is named only when it was checked: %s',
    async (_what, check, settings, kind, says, never) => {
      const [finding] = await lookWith(check ?? '', settings ?? '')
      expect(finding).toMatchObject(
        kind ? { state: 'problem', kind } : { state: 'warning', run: 'musette start' },
      )
      expect(finding?.found).toMatch(new RegExp(says ?? 'no sentence'))
      if (never) expect(`${finding?.found} ${finding?.run}`).not.toMatch(new RegExp(never))
    },
  )

  it.runIf(process.platform === 'linux')(
    'names who listens where nothing answers: musette that runs, musette that is stopped, or another program',
    async () => {
      const listen = `const server = require('net').createServer(() => {}).listen(0, '127.0.0.1', () => console.log(server.address().port))`
      const openSilent = async (word: string) => {
        const program = startNode(['-e', listen, word])
        onTestFinished(() => program.kill('SIGKILL').then(() => undefined))
        const port = await program.waitForLine(/^\d+$/)
        return { port, pid: program.pid, finished: program.finished }
      }
      const [runs, stopped, other] = await Promise.all(['musette', 'musette', 'other'].map(openSilent))
      process.kill(stopped?.pid ?? 0, 'SIGSTOP')
      const found = await Promise.all(
        [runs, stopped, other].map(
          async (one) => (await lookWith('daemon', `MUSETTE_HTTP=127.0.0.1:${one?.port}`))[0],
        ),
      )
      const silent = (one: typeof runs) => `127.0.0.1:${one?.port} did not answer within 5 s`
      expect(found).toMatchObject([
        {
          kind: 'unreachable',
          found: expect.stringMatching(`^musette \\(pid ${runs?.pid}\\) at ${silent(runs)}; end it`),
          run: `kill -9 ${runs?.pid}`,
        },
        {
          kind: 'unreachable',
          found: `musette (pid ${stopped?.pid}) at ${silent(stopped)}: a signal has stopped it; run: kill -CONT ${stopped?.pid}`,
        },
        { kind: 'configuration', found: expect.stringContaining('another program has 127.0.0.1:') },
      ])
      const stateOf = async (pid = 0) => /\) (\w)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1]
      expect(await stateOf(stopped?.pid)).toBe('T')
      await type('kill -CONT', found[1]?.found)
      expect(await stateOf(stopped?.pid)).not.toBe('T')
      await type('kill -9', found[0]?.run)
      expect(await runs?.finished).toMatchObject({ signal: 'SIGKILL' })
    },
  )

  it('is none with the daemon of this database', async () => {
    expect(await lookWith('daemon', 'MUSETTE_HTTP=127.0.0.1:{own}')).toEqual([])
  })
})

it('NODE_TLS_REJECT_UNAUTHORIZED=0 shows no password to a server with any certificate, and is a warning', async () => {
  const env = {
    ...{ DATABASE_URL: at.database, MUSETTE_HTTP: 'off', MUSETTE_DATA_DIR: join(at.dir, 'data') },
    ...{ NODE_TLS_REJECT_UNAUTHORIZED: '0', MUSETTE_BASE_URL: `https://localhost:${at.tlsService}` },
  }
  const run = (...words: string[]) =>
    runNode([distPath('main.js'), ...words], { cwd: at.dir, env, input: 'rider\n' })
  const login = await run('login', '--username', 'rider', '--password-stdin')
  const warned = 'NODE_TLS_REJECT_UNAUTHORIZED=0 (environment) has no effect'
  expect(login.stderr).toContain(`musette: ${warned}`)
  expect(login.stderr).toContain('is signed by an unknown authority')
  expect(login.code).toBe(4)
  expect((await run('doctor')).stdout).toMatch(/^warning +configuration: NODE_TLS_REJECT_UNAUTHORIZED=0/m)
})

describe('an authority of NODE_EXTRA_CA_CERTS', () => {
  it('counts in the settings file for the service and Redis; a certificate for another name is named', async () => {
    const dataDir = join(at.dir, 'trusting')
    await mkdir(dataDir, { mode: 0o700 })
    const text = `NODE_EXTRA_CA_CERTS=${join(at.dir, 'ca.crt')}\n`
    await writeFile(join(dataDir, 'musette.env'), text, { mode: 0o600 })
    const client = new Redis(at.redis)
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    client.disconnect()
    const run = (host: string, redis = `rediss://${host}:${at.tlsRedis}`) =>
      runNode([distPath('main.js'), 'doctor'], {
        cwd: at.dir,
        env: {
          ...{ DATABASE_URL: at.database, MUSETTE_HTTP: 'off', MUSETTE_DATA_DIR: dataDir },
          NODE_EXTRA_CA_CERTS: '',
          MUSETTE_BASE_URL: `https://${host}:${at.tlsService}`,
          REDIS_URL: redis,
        },
      })
    const right = await run('localhost')
    expect(right.stdout).toMatch(/^ok +service: https:\/\/localhost:\d+ answers/m)
    // Not in the words of the library, which has its own in the log.
    expect(right.stdout).toContain('redis: Redis may throw jobs away')
    expect(right.stderr).not.toContain('IMPORTANT')
    const names = ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes']
    const monitor = `sentinel monitor club localhost ${at.tlsRedis} 2`
    const sentinel = await openForTest(openOwnRedis([...names, monitor]))
    const { port } = await openForTest(openTlsFront(at.dir, sentinel.url))
    const group = await run('localhost', `rediss-sentinel://localhost:${port}#club`)
    expect(group.stdout).toContain('redis: Redis may throw jobs away')
    expect(group.stdout).toMatch(/^ok +queue: \d+ jobs wait/m)
    const other = await run('127.0.0.1')
    expect(other.stdout).toMatch(/service: .*is for another host name.* in MUSETTE_BASE_URL$/m)
    expect(other.stdout).toMatch(/redis: the certificate of Redis is for another host name.* in REDIS_URL$/m)
  })
})
