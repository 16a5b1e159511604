import { writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeQueuePool, migrateQueueTables } from '../../src/core/jobs/backend.ts'
import { inspectQueue } from '../../src/core/jobs/schedules.ts'
import { migrate } from '../../src/core/store/migrate.ts'
import { openStore } from '../../src/core/store/store.ts'
import { makeUrl } from '../../src/embedded/cluster.ts'
import { readSharedUrl } from '../../src/embedded/embedded.ts'
import { collectResults, openQueries } from '../../src/features/sql/raw-query.ts'
import { listen } from '../kit/listen.ts'
import { makeTestLog } from '../kit/log.ts'
import { openForTest } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const PASSWORD = 'c0ffee'.repeat(8)
const TRICKS: Trick[] = ['cleartext', 'md5', 'accepts', 'ready', 'scram-unproved']
const { log } = makeTestLog()

/** Every way in which musette connects to the embedded Postgres, by its URL. */
const CLIENTS: Record<string, (url: string) => Promise<unknown>> = {
  'the store': async (url) => {
    const store = await openForTest(openStore({ log }, { connectionString: url }))
    await store.transaction(({ client }) => client.query(`select 'sent'`))
  },
  migrations: (url) => migrate({ connectionString: url, log }),
  'SQL of a person': async (url) => {
    const queries = await openForTest(openQueries({ connectionString: url, write: false }))
    await collectResults(queries, `select 'sent'`)
  },
  'the queue': async (url) => {
    const pool = makeQueuePool(url)
    onTestFinished(() => pool.end())
    await pool.query(`select 'sent'`)
  },
  'the tables of the queue': (url) => migrateQueueTables(url),
  'a look at the queue': (url) =>
    inspectQueue({ backend: { kind: 'postgres', url }, accounts: [], catalog: {} }),
}

const openFake = (trick: Trick) => openForTest(openFakePostgres(trick))

const CASES = TRICKS.flatMap((trick) =>
  Object.entries(CLIENTS).map(([name, connect]) => ({ trick, name, connect })),
)

it.each(CASES)(
  'an impostor of the embedded Postgres ($trick) gets no password or query from $name',
  async ({ trick, connect }) => {
    const fake = await openFake(trick)
    const connecting = connect(makeUrl({ port: fake.port, password: PASSWORD }))
    const refused = await connecting.catch((error: unknown) => error)
    expect(fake.clients()).toBeGreaterThan(0)
    expect(fake.received()).not.toContain(PASSWORD)
    // The hash of MD5 authentication.
    expect(fake.received()).not.toMatch(/md5[0-9a-f]{32}/)
    expect(fake.received()).not.toMatch(/select|create|begin|set /i)
    expect(codesOf(refused)).toContain('database_untrusted')
  },
)

it.each(TRICKS)('an impostor (%s) is not taken for the embedded Postgres', async (trick) => {
  const fake = await openFake(trick)
  const folder = await openForTest(openTempDir('impostor'))
  const access = JSON.stringify({ port: fake.port, password: PASSWORD })
  await writeFile(join(folder.path, 'postgres.json'), access)
  expect(await readSharedUrl(folder.path, { withPassword: true })).toBeUndefined()
  expect(fake.clients()).toBe(1)
  expect(fake.received()).not.toContain(PASSWORD)
})

it('a DATABASE_URL that requires SCRAM signs in by SCRAM only; others by any method', async () => {
  const fake = await openFake('cleartext')
  const url = `postgres://rider:${PASSWORD}@127.0.0.1:${fake.port}/mirror`
  const connect = (text: string) => openQueries({ connectionString: text, write: false })
  await expect(connect(`${url}?require_auth=scram-sha-256`)).rejects.toMatchObject({
    code: 'database_untrusted',
    message: expect.stringContaining(`127.0.0.1:${fake.port}`),
  })
  expect(fake.received()).not.toContain(PASSWORD)
  await (await connect(url)).close()
  expect(fake.received()).toContain(PASSWORD)
})

function codesOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return []
  return ['code' in error ? error.code : undefined, ...codesOf(error.cause)]
}

/** The answer of a program that imitates Postgres to a client that signs in. */
type Trick = 'cleartext' | 'md5' | 'accepts' | 'ready' | 'scram-unproved'

/** Opens a server that speaks enough of the Postgres protocol to receive a password, and keeps everything received as text. */
async function openFakePostgres(trick: Trick) {
  let received = ''
  let clients = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => {
      clients += 1
      socket.write(FIRST[trick])
      if (trick === 'scram-unproved') socket.once('data', () => socket.write(ACCEPTED))
    })
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
  })
  const port = await listen(server)
  return {
    port,
    clients: () => clients,
    received: () => received,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const READY = message('Z', Buffer.from('I'))
const ACCEPTED = Buffer.concat([authentication(0), READY])
const FIRST: Record<Trick, Buffer> = {
  cleartext: Buffer.concat([authentication(3), ACCEPTED]),
  md5: Buffer.concat([authentication(5, Buffer.from('salt')), ACCEPTED]),
  accepts: ACCEPTED,
  ready: READY,
  'scram-unproved': authentication(10, Buffer.from('SCRAM-SHA-256\0\0')),
}

function authentication(kind: number, rest = Buffer.alloc(0)): Buffer {
  const number = Buffer.alloc(4)
  number.writeInt32BE(kind)
  return message('R', Buffer.concat([number, rest]))
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
