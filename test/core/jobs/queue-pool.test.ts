import { describe, expect, it, onTestFinished } from 'vitest'
import {
  asQueueError,
  makeBackend,
  makeQueuePool,
  migrateQueueTables,
} from '../../../src/core/jobs/backend.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

const database = openForAll(openTestDatabase)

/** Opens a pool that counts its pauses without pausing. */
function openPool(url = database.url) {
  const pauses: number[] = []
  const pool = makeQueuePool(url, async (ms) => void pauses.push(ms))
  onTestFinished(() => pool.end())
  return { pool, pauses }
}

it('looking for stalled jobs writes only to a queue with a running job', async () => {
  const own = await openTestDatabase()
  await migrateQueueTables(own.url)
  const { factory, close } = makeBackend({ kind: 'postgres', url: own.url }, [])
  onTestFinished(() => close().then(own.close))
  const backend = factory('polls', { connection: {}, stalledInterval: 1 } as never, {})
  const written = () => queryOnce(own.url, `select 1 from bullmq.meta where field = 'stalled-check'`)
  await backend.moveStalledJobsToWait()
  expect(await written()).toHaveLength(0)
  const insert = `insert into bullmq.job (queue, id, seq, name, state, data, opts, added_at_ms)
    values ('polls', 'one', 1, 'sweep', 'active', '{}', '{}', 0)`
  await queryOnce(own.url, insert)
  await backend.moveStalledJobsToWait()
  expect(await written()).toHaveLength(1)
})

it('a queue is unreachable if the server has no free connection', async () => {
  const role = `few_${process.pid}`
  const url = Object.assign(new URL(database.url), { username: role, password: 'few' })
  await queryOnce(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT 0`)
  onTestFinished(async () => void (await queryOnce(database.url, `DROP ROLE ${role}`)))
  const error = await openPool(url.href)
    .pool.query('select 1')
    .catch((thrown: unknown) => thrown)
  const message = expect.stringContaining('too many connections')
  expect(error).toMatchObject({ code: 'ECONNREFUSED', message })
  expect(asQueueError(error)).toMatchObject({ code: 'queue_unreachable', message })
  const other = new TypeError('a mistake of ours')
  expect(asQueueError(other)).toBe(other)
})

describe('queue in Postgres', () => {
  const states = (sqlstate: string) => `raise exception using errcode = '${sqlstate}', message = 'as told'`
  it.each([
    ['a read-only server', '25006', 'ECONNREFUSED'],
    ['a full disk', '53100', 'ECONNREFUSED'],
    ['a stopping server', '57P01', 'ECONNREFUSED'],
    ['a lost connection', '08006', 'ECONNREFUSED'],
    ['a refused login', '28000', 'ECONNREFUSED'],
    ['a disk error', '58030', 'ECONNREFUSED'],
    ['a damaged page', 'XX001', 'ECONNREFUSED'],
    ['a missing table', '42P01', '42P01'],
  ])(
    'the queue pauses before it reports %s (%s), and keeps the connection',
    async (_what, sqlstate, code) => {
      const { pool, pauses } = openPool()
      const pid = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0]
      const before = await pid()
      const failing = pool.query(`do $$ begin ${states(sqlstate)}; end $$`)
      await expect(failing).rejects.toMatchObject({ code, message: expect.stringContaining('as told') })
      expect(pauses).toEqual([1_000])
      expect(await pid()).toEqual(before)
    },
  )

  it('the queue pauses before it reports a refused connection, but not a BullMQ result', async () => {
    const gone = openPool(Object.assign(new URL(database.url), { pathname: '/no_such_database' }).href)
    for (const work of [() => gone.pool.connect(), () => gone.pool.query('select 1')])
      await expect(work()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(gone.pauses).toHaveLength(2)
    const { pool, pauses } = openPool()
    const failing = pool.query(`do $$ begin ${states('BM001')}; end $$`)
    await expect(failing).rejects.toMatchObject({ code: 'BM001' })
    expect(pauses).toEqual([])
  })
})
