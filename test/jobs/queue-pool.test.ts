import type pg from 'pg'
import { expect, it } from 'vitest'
import { makeQueuePool } from '../../src/jobs/backend.ts'
import { openTestDatabase } from '../kit/postgres.ts'

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
