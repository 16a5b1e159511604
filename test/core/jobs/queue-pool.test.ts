import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { asQueueError, makeQueuePool } from '../../../src/core/jobs/backend.ts'
import { withClient } from '../../../src/kit/postgres-client.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

it('a closed queue ignores connections that the server ends at that moment', async () => {
  const database = await openTestDatabase()
  try {
    const pool = makeQueuePool(database.url)
    const heard: unknown[] = []
    const clients: unknown[] = []
    pool.on('error', (error: unknown) => heard.push(error))
    pool.on('connect', (client) => clients.push(client))
    await pool.query('select 1')
    const ended = pool.end()
    const stopping = Object.assign(new Error('terminating connection due to administrator command'), {
      code: '57P01',
    })
    for (const client of clients) (client as pg.Client).emit('error', stopping)
    await ended
    expect(clients).toHaveLength(1)
    expect(heard).toEqual([])
  } finally {
    await database.close()
  }
})

it('a closed queue has no connection at the server, not even one that was just ended', async () => {
  const database = await openTestDatabase()
  try {
    await withClient({ connectionString: database.url }, async (client) => {
      for (let round = 0; round < 5; round++) {
        const pool = makeQueuePool(database.url)
        const clients = await Promise.all(Array.from({ length: 8 }, () => pool.connect()))
        for (const [place, each] of clients.entries()) each.release(place % 2 === 0)
        await pool.end()
        const { rows } = await client.query(
          'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
        expect(rows).toEqual([])
      }
    })
  } finally {
    await database.close()
  }
})

it('a queue without a free connection at the server is unreachable, with the reason', async () => {
  const database = await openTestDatabase()
  const role = `few_${process.pid}`
  const url = new URL(database.url)
  url.username = role
  url.password = 'few'
  await queryOnce(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT 0`)
  const pool = makeQueuePool(url.href)
  try {
    const error = await pool.query('select 1').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'ECONNREFUSED',
      message: expect.stringContaining('too many connections'),
    })
    expect(asQueueError(error)).toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('too many connections'),
    })
    const other = new TypeError('a mistake of ours')
    expect(asQueueError(other)).toBe(other)
  } finally {
    await pool.end()
    await queryOnce(database.url, `DROP ROLE ${role}`)
    await database.close()
  }
})

describe('a queue in Postgres pauses before it reports', () => {
  const states = (sqlstate: string) => `raise exception using errcode = '${sqlstate}', message = 'as told'`
  it.each([
    ['a server that is only read', '25006', 'ECONNREFUSED'],
    ['a full disk', '53100', 'ECONNREFUSED'],
    ['no memory', '53200', 'ECONNREFUSED'],
    ['no connection', '53300', 'ECONNREFUSED'],
    ['a server that stops', '57P01', 'ECONNREFUSED'],
    ['a lost connection', '08006', 'ECONNREFUSED'],
    ['a refused login', '28000', 'ECONNREFUSED'],
    ['a database that is gone', '3D000', 'ECONNREFUSED'],
    ['an error of the disk', '58030', 'ECONNREFUSED'],
    ['a damaged page', 'XX001', 'ECONNREFUSED'],
    ['a table that is gone', '42P01', '42P01'],
  ])('%s (%s), and keeps the connection', async (_what, sqlstate, code) => {
    const database = await openTestDatabase()
    const pauses: number[] = []
    const pool = makeQueuePool(database.url, async (ms) => void pauses.push(ms))
    try {
      const pid = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0]
      const before = await pid()
      const failing = pool.query(`do $$ begin ${states(sqlstate)}; end $$`)
      await expect(failing).rejects.toMatchObject({ code, message: expect.stringContaining('as told') })
      expect(pauses).toEqual([1_000])
      expect(await pid()).toEqual(before)
    } finally {
      await pool.end()
      await database.close()
    }
  })

  it('every refusal of a connection, and not the answers of BullMQ', async () => {
    const database = await openTestDatabase()
    const pauses: number[] = []
    const pause = async (ms: number) => void pauses.push(ms)
    const gone = new URL(database.url)
    gone.pathname = '/no_such_database'
    const pools = [makeQueuePool(gone.href, pause), makeQueuePool(database.url, pause)]
    try {
      for (const work of [() => pools[0]?.connect(), () => pools[0]?.query('select 1')])
        await expect(work()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      expect(pauses).toHaveLength(2)
      await expect(pools[1]?.query(`do $$ begin ${states('BM001')}; end $$`)).rejects.toMatchObject({
        code: 'BM001',
      })
      expect(pauses).toHaveLength(2)
    } finally {
      for (const pool of pools) await pool.end()
      await database.close()
    }
  })
})
