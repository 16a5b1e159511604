import type pg from 'pg'
import { expect, it } from 'vitest'
import { asQueueError, makeQueuePool } from '../../src/jobs/backend.ts'
import { withClient } from '../../src/kit/postgres-client.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'

it('a queue that is closed does not hear of its connections which the server ends in that moment', async () => {
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

it('a queue that is closed has no connection at the server any more, nor one that was ended just before', async () => {
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

it('a queue for which the server has no connection left is unreachable, with the reason, and no unexpected error', async () => {
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
