import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeBackendChoice } from '../../../src/core/jobs/backend.ts'
import { type Jobs, openJobs } from '../../../src/core/jobs/jobs.ts'
import { fetchRedisFacts } from '../../../src/core/jobs/redis.ts'
import { errorCode } from '../../../src/kit/errors.ts'
import { makeReleaseStack, type ReleaseStack } from '../../../src/kit/release-stack.ts'
import { tryRedis } from '../../../src/program/daemon/wait-for-servers.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { describeWithRedis, openOwnRedis } from '../../kit/redis.ts'
import type { RedisServer } from '../../kit/redis-server.ts'
import { handlersOf, QUICK } from './handlers.ts'

const IDENTITY = '33333333-2222-4333-8444-555555555555'
const LINE = '11111111-2222-4333-8444-555555555555'
const OTHER = '99999999-2222-4333-8444-555555555555'

let release: ReleaseStack
let server: RedisServer
let redis: Redis
let lines: string[]
beforeEach(async () => {
  release = makeReleaseStack()
  lines = []
  server = await openOwnRedis()
  release.defer('server', () => server.close())
  redis = await openClient(server.url)
})
afterEach(() => release.release())

async function openClient(url: string): Promise<Redis> {
  const client = new Redis(url, { maxRetriesPerRequest: 1 })
  client.on('error', () => undefined)
  release.defer('client', () => client.disconnect())
  await client.ping()
  return client
}

type Input = { line?: string; accounts?: number[]; silentMs?: number; poll?: (id: number) => void }

async function open(url: string, { line = LINE, accounts = [1], ...more }: Input = {}): Promise<Jobs> {
  const { silentMs, poll } = more
  const log = pino({ level: 'debug' }, { write: (text: string) => void lines.push(text) })
  const handlers = handlersOf(undefined, async (id) => poll?.(id))
  const { signal } = new AbortController()
  const choice = makeBackendChoice(url, '', { identity: IDENTITY, line })
  const backend = { ...choice, ...(silentMs && { silentMs }) }
  const deps = { log, handlers, signal, accounts: async () => accounts }
  const jobs = await openJobs(deps, { ...QUICK, backend, heartbeatMs: 300 })
  release.defer('jobs', () => jobs.close())
  jobs.work()
  return jobs
}

const schedulesOf = async (jobs: Jobs) => (await jobs.queues()[0]?.getJobSchedulers(0, -1))?.length
const enqueue = (jobs: Jobs, accountId: number) =>
  jobs.enqueue('poll-activities', [{ accountId }]).catch(() => 0)

describeWithRedis('queue in Redis', () => {
  it('dead connections are replaced, and do not keep the queue from closing', async () => {
    const polled: number[] = []
    const line = await openForTest(openLine(server.url))
    const jobs = await open(line.url, { silentMs: 500, poll: (id) => void polled.push(id) })
    await enqueue(jobs, 7)
    await eventually(() => polled.includes(7), { what: 'a poll before' })
    line.swallow()
    await eventually(() => enqueue(jobs, 8).then(() => polled.includes(8)), { what: 'a poll after' })
    line.swallow()
    await jobs.close()
  })

  it('a queue continues at the new primary after a failover, and reports the old one as read-only', async () => {
    const second = await openForTest(openOwnRedis())
    const line = await openForTest(openLine(server.url))
    const polled: number[] = []
    const jobs = await open(line.url, { poll: (id) => void polled.push(id) })
    const { hostname, port } = new URL(second.url)
    await redis.replicaof(hostname, port)
    const codeOf = (error: unknown) => ({ code: errorCode(error) })
    await eventually(async () => 'code' in (await jobs.counts().catch(codeOf)), { what: 'a refused write' })
    await eventually(() => lines.find((text) => text.includes('a read-only replica')), { what: 'its line' })
    expect(await fetchRedisFacts(line.url)).toMatchObject([{ isReplica: true }])
    const input = { signal: new AbortController().signal, withinMs: 60_000 }
    expect(await tryRedis(line.url, input)).toMatchObject({
      reason: expect.stringContaining('a read-only replica'),
    })
    line.moveTo(second.url)
    await eventually(() => jobs.counts().catch(() => undefined), { what: 'writes' })
    await eventually(() => enqueue(jobs, 8).then(() => polled.includes(8)), { what: 'a poll after' })
  })

  it('a key overwritten by another program is reported, and the suggested command repairs the queue', async () => {
    const jobs = await open(server.url)
    await jobs.keepSchedules()
    const before = await schedulesOf(jobs)
    expect(before).toBeGreaterThan(0)
    const foreign = `{musette-${IDENTITY}}:${LINE}:polls:meta`
    await redis.set(foreign, 'x')
    const error = await open(server.url).catch((error: unknown) => error)
    expect(error).toMatchObject({ name: 'ConfigError', code: 'queue_foreign_key' })
    const { message } = error as Error
    await eventually(() => lines.find((text) => JSON.parse(text).error === message), { what: 'its line' })
    await redis.set(`{musette-${IDENTITY}}:${OTHER}:polls:id`, '1')
    const command = /; run: (.*)$/.exec(message)?.[1] ?? ''
    await promisify(execFile)('sh', ['-c', command], { env: { ...process.env, REDIS_URL: server.url } })
    expect(await redis.get(foreign).catch(() => 'a hash again')).not.toBe('x')
    const isBack = async () => (await schedulesOf(jobs).catch(() => 0)) === before
    await eventually(isBack, { what: 'the schedules' })
    expect(await redis.get(`{musette-${IDENTITY}}:${OTHER}:polls:id`)).toBe('1')
  })

  it('two databases in one Redis keep their own schedules', async () => {
    const one = await open(server.url, { accounts: [1, 2] })
    const two = await open(server.url, { line: OTHER, accounts: [3] })
    for (const jobs of [one, two, one, two]) await jobs.keepSchedules()
    const [first, second] = [await schedulesOf(one), await schedulesOf(two)]
    expect(first).toBeGreaterThan(second ?? 0)
    expect(second).toBeGreaterThan(0)
  })

  it('only keys of 1.0.0 are removed, and only if no worker of 1.0.0 is connected', async () => {
    const plant = async () => {
      await redis.hset('musette:polls:meta', 'opts.maxLenEvents', '10000')
      await redis.hset('musette:polls:repeat:sweep', 'every', '10000')
      await redis.set('musettes:polls:id', 'of another program')
    }
    await plant()
    const worker = await openClient(server.url)
    await worker.client('SETNAME', `musette:${Buffer.from('polls').toString('base64')}`)
    await open(server.url)
    expect(await redis.exists('musette:polls:meta')).toBe(1)
    worker.disconnect()
    await eventually(async () => !String(await redis.client('LIST')).includes('name=musette:'))
    await open(server.url, { line: OTHER })
    expect(await redis.keys('musette:*')).toEqual([])
    expect(await redis.exists('musettes:polls:id')).toBe(1)
  })
})
