import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { makeCertificates } from '../../kit/certificates.ts'
import { openHttpProxy } from '../../kit/http-proxy.ts'
import { findFreePort, listen } from '../../kit/listen.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTlsFront } from '../../kit/tls-front.ts'
import { look } from './rig.ts'

const release = makeReleaseStack()
afterAll(() => release.release())

/** The servers of the situations, by the addresses of each. */
type Places = Awaited<ReturnType<typeof openPlaces>>
let at: Places
beforeAll(async () => {
  at = await openPlaces()
})

/** Keeps what is opened until the end of the tests. */
async function keep<T extends { close(): unknown }>(opening: Promise<T> | T): Promise<T> {
  const opened = await opening
  release.defer('a server', async () => void (await opened.close()))
  return opened
}

async function openPlaces() {
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
  const [row] = await queryOnce(database.url, 'select identity from training.database')
  return {
    dir: folder.path,
    proxy: (await keep(openHttpProxy(sandbox.url))).url,
    sandbox: sandbox.url,
    plain: await listen(plain),
    redis: new URL(redis.url),
    locked: new URL(locked.url),
    database: new URL(database.url),
    tls: {
      service: await front(sandbox.url),
      redis: await front(redis.url),
      database: await front(inject('postgresUrl')),
    },
    daemons: {
      none: await findFreePort(),
      stranger: await answering({ hello: 'world' }),
      other: await answering({ ready: true, parts: {}, identity: 'of-another' }),
      own: await answering({ ready: true, parts: {}, identity: String(row?.identity) }),
    },
  }
}

/** Looks with the settings of a mirror in order, and these. */
const lookWith = (check: string, env: Record<string, string>) =>
  look(check, {
    ...{
      MUSETTE_DATA_DIR: join(at.dir, 'data'),
      MUSETTE_BASE_URL: at.sandbox,
      DATABASE_URL: at.database.href,
    },
    ...env,
  })

const database = (host: string, mode: string) => {
  const url = new URL(at.database)
  url.host = `${host}:${at.tls.database}`
  for (const part of mode.split('&')) url.searchParams.set(...(part.split('=') as [string, string]))
  return url.href
}
const withUser = (url: URL, login: string) => url.href.replace('//', `//${login}@`)

type Row = {
  what: string
  check: string
  env: () => Record<string, string>
  /** what the first finding that is not fine says; undefined: all is fine */
  says?: RegExp
  never?: RegExp
  kind?: 'configuration' | 'unreachable'
}

const CAUSES: readonly Row[] = [
  {
    what: 'a proxy that does not run',
    check: 'service',
    env: () => ({ MUSETTE_BASE_URL: 'https://service.invalid', HTTPS_PROXY: 'http://127.0.0.1:9' }),
    says: /^the proxy http:\/\/127.0.0.1:9 cannot be used \(ECONNREFUSED\).*HTTPS_PROXY/,
    kind: 'unreachable',
  },
  {
    what: 'a proxy that wants another password',
    check: 'service',
    env: () => ({
      MUSETTE_BASE_URL: 'https://service.invalid',
      HTTPS_PROXY: at.proxy.replace('proxy-secret', 'x'),
    }),
    says: /^the proxy http:\/\/127.0.0.1:\d+ wants a user and a password/,
    never: /secret/,
    kind: 'unreachable',
  },
  {
    what: 'https to a port without TLS',
    check: 'service',
    env: () => ({ MUSETTE_BASE_URL: `https://127.0.0.1:${at.plain}` }),
    says: /what answers does not speak TLS.*MUSETTE_BASE_URL is https: or http:/,
    kind: 'unreachable',
  },
  {
    what: 'http to a port with TLS',
    check: 'service',
    env: () => ({ MUSETTE_BASE_URL: `http://localhost:${at.tls.service}` }),
    says: /the connection was lost \(UND_ERR_SOCKET\).*MUSETTE_BASE_URL is https: or http:/,
    kind: 'unreachable',
  },
  {
    what: 'a certificate of an own authority',
    check: 'service',
    env: () => ({ MUSETTE_BASE_URL: `https://localhost:${at.tls.service}` }),
    says: /comes from an authority that is not known here.*NODE_EXTRA_CA_CERTS/,
    never: /clock|curl/,
    kind: 'unreachable',
  },
  {
    what: 'a Redis that wants a password',
    check: 'redis',
    env: () => ({ REDIS_URL: at.locked.href }),
    says: /^Redis refused the login \(NOAUTH\); write user and password into REDIS_URL/,
    never: /runs/,
    kind: 'configuration',
  },
  {
    what: 'a Redis that wants another password',
    check: 'redis',
    env: () => ({ REDIS_URL: withUser(at.locked, ':wrong') }),
    says: /^Redis refused the login \(WRONGPASS\)/,
    never: /runs|wrong@/,
    kind: 'configuration',
  },
  {
    what: 'a Redis with a certificate of an own authority',
    check: 'redis',
    env: () => ({ REDIS_URL: `rediss://localhost:${at.tls.redis}` }),
    says: /^the certificate of Redis comes from an authority.*NODE_EXTRA_CA_CERTS/,
    never: /runs/,
    kind: 'unreachable',
  },
  {
    what: 'redis: to a Redis with TLS',
    check: 'redis',
    env: () => ({ REDIS_URL: `redis://localhost:${at.tls.redis}` }),
    says: /^Redis cannot be reached \(.*closed.*redis: without TLS, rediss: with it/,
    kind: 'unreachable',
  },
  {
    what: 'a database with a certificate for another host name',
    check: 'database',
    env: () => ({
      DATABASE_URL: database('127.0.0.1', `sslmode=verify-full&sslrootcert=${join(at.dir, 'ca.crt')}`),
    }),
    says: /^the certificate of the database is for another host name.*write the name that it is for into DATABASE_URL$/,
    never: /require|runs/,
    kind: 'unreachable',
  },
  {
    what: 'a database with a certificate of an own authority',
    check: 'database',
    env: () => ({ DATABASE_URL: database('localhost', 'sslmode=verify-full') }),
    says: /comes from an authority that is not known here.*sslrootcert of DATABASE_URL$/,
    never: /require|runs/,
    kind: 'unreachable',
  },
  {
    what: 'no daemon',
    check: 'daemon',
    env: () => ({ MUSETTE_HTTP: `127.0.0.1:${at.daemons.none}` }),
    says: /^none runs, so nothing is mirrored by itself: no answer from 127.0.0.1:\d+ \(.*ECONNREFUSED/,
  },
  {
    what: 'another program on the port of the daemon',
    check: 'daemon',
    env: () => ({ MUSETTE_HTTP: `127.0.0.1:${at.daemons.stranger}` }),
    says: /^another program has 127.0.0.1:\d+/,
    kind: 'configuration',
  },
  {
    what: 'a program on the port of the daemon that does not speak HTTP',
    check: 'daemon',
    env: () => ({ MUSETTE_HTTP: `127.0.0.1:${at.redis.port}` }),
    says: /^another program has 127.0.0.1:\d+/,
    kind: 'configuration',
  },
  {
    what: 'the daemon of another database',
    check: 'daemon',
    env: () => ({ MUSETTE_HTTP: `127.0.0.1:${at.daemons.other}` }),
    says: /^the daemon of another database has 127.0.0.1:\d+/,
    kind: 'configuration',
  },
  {
    what: 'the daemon of this database',
    check: 'daemon',
    env: () => ({ MUSETTE_HTTP: `127.0.0.1:${at.daemons.own}` }),
  },
]

describe('the cause of a failure', () => {
  it.each(CAUSES)('is named only when it was checked: $what', async ({ check, env, says, never, kind }) => {
    const [finding] = await lookWith(check, env())
    if (!says) return expect(finding).toBeUndefined()
    expect(finding).toMatchObject(
      kind ? { state: 'problem', kind } : { state: 'warning', run: 'musette start' },
    )
    expect(finding?.found).toMatch(says)
    if (never) expect(`${finding?.found} ${finding?.run}`).not.toMatch(never)
  })
})

describe('an authority of NODE_EXTRA_CA_CERTS', () => {
  const run = (env: Record<string, string>) =>
    runNode([distPath('main.js'), 'doctor'], {
      cwd: at.dir,
      env: {
        DATABASE_URL: at.database.href,
        MUSETTE_HTTP: 'off',
        NODE_EXTRA_CA_CERTS: '',
        MUSETTE_DATA_DIR: join(at.dir, 'trusting'),
        ...env,
      },
    })

  it('counts in the settings file for the service and Redis; a certificate for another name is named', async () => {
    await mkdir(join(at.dir, 'trusting'), { mode: 0o700 })
    const file = join(at.dir, 'trusting', 'musette.env')
    await writeFile(file, `NODE_EXTRA_CA_CERTS=${join(at.dir, 'ca.crt')}\n`, { mode: 0o600 })
    const servers = (host: string) => ({
      MUSETTE_BASE_URL: `https://${host}:${at.tls.service}`,
      REDIS_URL: `rediss://${host}:${at.tls.redis}`,
    })
    const right = await run(servers('localhost'))
    expect(right.stdout).toMatch(/^ok +service: https:\/\/localhost:\d+ answers/m)
    expect(right.stdout).toMatch(/^ok +redis: Redis \d/m)
    const other = await run(servers('127.0.0.1'))
    expect(other.stdout).toMatch(/service: .*is for another host name.*into MUSETTE_BASE_URL$/m)
    expect(other.stdout).toMatch(/redis: the certificate of Redis is for another host name.*into REDIS_URL$/m)
  })
})

it('messages of libraries are neither in the output nor in the log', async () => {
  const client = new Redis(at.redis.href)
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  client.disconnect()
  const options = {
    env: { DATABASE_URL: at.database.href, REDIS_URL: at.redis.href, MUSETTE_HTTP: 'off' },
    cwd: at.dir,
  }
  const { stdout, stderr } = await runNode([distPath('main.js'), 'doctor'], options)
  expect(stdout).toContain('redis: Redis may throw jobs away')
  expect(stderr).not.toContain('IMPORTANT')
})
