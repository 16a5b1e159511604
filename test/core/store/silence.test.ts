import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeQueuePool, migrateQueueTables } from '../../../src/core/jobs/backend.ts'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { copyIn, copyOut } from '../../../src/core/store/copy.ts'
import { openChangeListener } from '../../../src/core/store/feed/change-listener.ts'
import { openStore, type Store, withExclusiveWork } from '../../../src/core/store/store.ts'
import { endPool, makePool, RETIRED } from '../../../src/kit/postgres-client.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { type Line, openLine } from '../../kit/postgres-line.ts'
import { quiet, rowsOf } from './open.ts'

const SILENT_MS = 300
const LOST = { code: 'database_unreachable' }
const NONE_LEFT = `select count(*) = 0 as none from pg_stat_activity
  where datname = current_database() and application_name like 'musette%'`

/** Opens a database, a proxy before it (`line`), and a store behind the proxy; `direct` opens a store without the proxy. */
async function openScene(): Promise<{ url: string; line: Line; store: Store; direct: () => Store }> {
  const database = await openTestDatabase()
  const line = await openLine(database.url)
  const store = openStore({ log: quiet }, { connectionString: line.url, silentMs: SILENT_MS })
  onTestFinished(async () => {
    await store.close()
    await line.close()
    await database.close()
  })
  const direct = () => {
    const other = openStore({ log: quiet }, { connectionString: database.url })
    onTestFinished(() => other.close())
    return other
  }
  return { url: database.url, line, store, direct }
}

/** Waits, by the server's clock, several times as long as a connection may be silent. */
const pause = (url: string) => queryOnce(url, `select pg_sleep(${(SILENT_MS * 4) / 1_000})`)

describe('a connection whose proxy silently drops all traffic', () => {
  it('ends on both sides while idle, and the next statement gets a new one', async () => {
    const { url, line, store } = await openScene()
    await rowsOf(store, 'select 1')
    line.swallow()
    await eventually(async () => (await queryOnce(url, NONE_LEFT))[0]?.none)
    expect(await rowsOf(store, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('ends while a statement runs, and frees its locks', async () => {
    const { line, store, direct } = await openScene()
    const held = `update training.database set identity = identity`
    const lost = store.transaction(async ({ client }) => {
      await client.query(held)
      line.swallow()
      await client.query('select 1')
    })
    await expect(lost).rejects.toMatchObject(LOST)
    await direct().transaction(({ client }) => client.query(`set local lock_timeout = '10s'; ${held}`))
  })

  it('is ended here while a login reads that may end no session', { timeout: 20_000 }, async () => {
    const { url, line } = await openScene()
    const name = `reads_${randomBytes(4).toString('hex')}`
    await queryOnce(
      url,
      `create role ${name} login password 'reads'; revoke execute on function pg_terminate_backend from public`,
    )
    onTestFinished(async () => void (await queryOnce(url, `drop role ${name}`)))
    const connectionString = Object.assign(new URL(line.url), { username: name, password: 'reads' }).href
    const store = await openForTest(openStore({ log: quiet }, { connectionString, silentMs: 1_000 }))
    const lost = store.read(async ({ client }) => {
      line.swallow()
      await client.query('select 1')
    })
    await expect(lost).rejects.toMatchObject(LOST)
  })

  it('ends during long work, frees its lock and tells its holder', async () => {
    const { line, store, direct } = await openScene()
    const begun = new AbortController()
    const holding = withExclusiveWork(store, 'export', async (held) => {
      begun.abort()
      await once(held, 'abort')
    })
    if (!begun.signal.aborted) await once(begun.signal, 'abort')
    line.swallow()
    const lost = expect(holding).rejects.toMatchObject(LOST)
    const other = direct()
    expect(await eventually(() => withExclusiveWork(other, 'export', async () => true))).toBe(true)
    await lost
  })

  it('ends while it listens', async () => {
    const { url, line } = await openScene()
    const options = { connectionString: line.url, channel: 'musette_changes', silentMs: SILENT_MS } as const
    const listener = await openForTest(openChangeListener({ log: quiet }, options))
    await listener.wait(0, new AbortController().signal)
    expect(await queryOnce(url, NONE_LEFT)).toEqual([{ none: false }])
    line.swallow()
    await eventually(async () => (await queryOnce(url, NONE_LEFT))[0]?.none)
  })

  it('ends in the pool of the queue', async () => {
    const { url, line } = await openScene()
    await migrateQueueTables(url)
    const queue = makeQueuePool(line.url, undefined, SILENT_MS)
    onTestFinished(() => queue.end())
    const client = await queue.connect()
    const ended = new Promise((resolve) => client.on('error', resolve))
    line.swallow()
    await ended
    client.release(true)
    expect((await queue.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })
})

it('a connection ends at its maximum age, whether it is idle or listens', async () => {
  const { url } = await openScene()
  const pool = makePool({ connectionString: url, silentMs: SILENT_MS, lifeMs: 2 * SILENT_MS })
  onTestFinished(() => endPool(pool))
  const [idle, listening] = [await pool.connect(), await pool.connect()]
  listening.on('notification', () => undefined)
  const [removed, ended] = [once(pool, 'remove'), new Promise((resolve) => listening.once('error', resolve))]
  idle.release()
  expect((await removed)[0]).toBe(idle)
  expect(await ended).toMatchObject({ code: RETIRED })
  listening.release(true)
})

describe('a connection that is silent while it works', () => {
  it('stays open however long its statement runs', async () => {
    const { store } = await openScene()
    expect(await rowsOf(store, 'select pg_sleep(1.5), 1 as one')).toMatchObject([{ one: 1 }])
  })

  it('stays open while the rows of a COPY are slow or not read', async () => {
    const { url, store } = await openScene()
    async function* rows() {
      for (let round = 0; round < 2; round++) {
        yield Buffer.from(`${'x'.repeat(1_000)}\n`.repeat(2_000))
        await pause(url)
      }
    }
    const lengths = await store.transaction(async ({ client }) => {
      await client.query('create temporary table lines (line text)')
      await copyIn(client, 'lines from stdin', rows())
      let bytes = 0
      for await (const chunk of copyOut(client, 'lines').chunks) {
        if (bytes === 0) await pause(url)
        bytes += chunk.length
      }
      return bytes
    })
    expect(lengths).toBeGreaterThan(4_000_000)
  })
})

it('a wait for changes ends in time, even after a lost connection and garbage collection', async () => {
  const { line } = await openScene()
  const options = { connectionString: line.url, channel: 'musette_changes' } as const
  const listener = await openForTest(openChangeListener({ log: quiet }, options))
  const never = new AbortController()
  await listener.wait(0, never.signal)
  const collecting = setInterval(collectGarbage, 20)
  onTestFinished(() => clearInterval(collecting))
  for (const state of ['good', 'cut'] as const) {
    line.become(state)
    const waited = listener.wait(200, never.signal).then(() => 'ended')
    const late = new Promise((resolve) => setTimeout(resolve, 10_000, 'in vain'))
    expect(await Promise.race([waited, late])).toBe('ended')
  }
})
