import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Cluster, Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeBackendChoice } from '../../../src/core/jobs/backend.ts'
import { type Jobs, openJobs } from '../../../src/core/jobs/jobs.ts'
import { fetchRedisFacts, makeRedisConnection } from '../../../src/core/jobs/redis.ts'
import { inspectQueue } from '../../../src/core/jobs/schedules.ts'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { within } from '../../../src/kit/time.ts'
import { fitCommand } from '../../../src/program/app/remedy.ts'
import { checkRedis } from '../../../src/program/doctor/check-queue.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { describeWithRedis, openOwnRedis } from '../../kit/redis.ts'
import { openCluster, openSentinels, type RedisGroup } from '../../kit/redis-groups.ts'
import { catalogOf, handlersOf, QUICK } from './handlers.ts'

const IDENTITY = '33333333-2222-4333-8444-555555555555'
const LINE = '11111111-2222-4333-8444-555555555555'
const FOREIGN = `{musette-${IDENTITY}}:${LINE}:polls:meta`

const release = makeReleaseStack()
afterAll(() => release.release())

function connectTo(port: number, password?: string): Redis {
  const redis = new Redis({ port, ...(password && { password }) })
  redis.on('error', () => undefined)
  release.defer('client', () => redis.disconnect())
  return redis
}

/**
 * Opens the queue of a process that polls each account every second. `polls`: when each poll ran; `fetched`: fetched activities; `twice`:
 * activities that were fetched twice at the same time.
 */
async function open(url: string) {
  const log = pino({ level: 'silent' })
  const polls: number[] = []
  const fetched = new Set<number>()
  const running = new Set<number>()
  const twice: number[] = []
  const fetch = async (id: number) => {
    if (running.has(id)) twice.push(id)
    running.add(id)
    await new Promise((resolve) => setImmediate(resolve))
    running.delete(id)
    fetched.add(id)
  }
  const handlers = handlersOf(fetch, async () => void polls.push(Date.now()))
  const { signal } = new AbortController()
  const backend = makeBackendChoice(url, '', { identity: IDENTITY, line: LINE })
  const catalog = catalogOf(1_000)
  const jobs = await openJobs(
    { log, handlers, signal, accounts: async () => [1, 2] },
    { ...QUICK, catalog, backend, heartbeatMs: 500, lockMs: 3_000, stalledMs: 500 },
  )
  release.defer('jobs', () => jobs.close())
  jobs.work()
  const inspect = () => inspectQueue({ backend, accounts: [1, 2], catalog })
  return { jobs, polls, fetched, twice, inspect }
}

const enqueue = (jobs: Jobs, ids: readonly number[]) =>
  jobs.enqueue(
    'fetch-activity',
    ids.map((activityId) => ({ accountId: 1, activityId })),
  )

/** Runs a suggested command, and types the password that it asks for. */
function type(command: string, password: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('sh', ['-c', command], (error, out, err) =>
      error ? reject(error) : resolve(out + err),
    )
    child.stdin?.on('error', () => undefined) // most commands read nothing
    child.stdin?.end(`${password}\n`)
  })
}

describeWithRedis('queue in several Redis servers', () => {
  const groups: Record<string, RedisGroup> = {}
  beforeAll(async () => {
    const opened = await Promise.all([openCluster(FOREIGN), openSentinels()])
    for (const group of opened) release.defer('servers', () => group.close())
    const [cluster, sentinels] = opened
    Object.assign(groups, { cluster, sentinels })
  })
  const groupOf = (kind: string) => {
    const group = groups[kind]
    if (!group) throw new Error(`no ${kind}`)
    return { ...group, config: readConfig({ REDIS_URL: group.openUrl }) }
  }

  it.each(['cluster', 'sentinels'])(
    'each primary is checked, and the suggested commands repair it: %s',
    async (kind) => {
      const { config, primary, password, openUrl } = groupOf(kind)
      const redis = connectTo(primary.port, password)
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
      const [finding, ...others] = (await checkRedis({ config })).filter(({ state }) => state === 'problem')
      expect(others).toEqual([])
      expect(finding?.run).toContain(`127.0.0.1:${primary.port}`)
      await type(finding?.run ?? '', password)
      expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
      for (const { run = '' } of await checkRedis({ config })) await type(run || 'true', password)
      expect((await checkRedis({ config })).map(({ state }) => state)).toEqual(['ok'])
      if (kind === 'sentinels') await redis.select(1)
      await redis.set(FOREIGN, 'x')
      const error = await open(openUrl).catch((error: unknown) => error)
      expect(error).toMatchObject({ code: 'queue_foreign_key' })
      await type(fitCommand(/; run: (.*)$/.exec((error as Error).message)?.[1] ?? '', config), password)
      expect(await redis.exists(FOREIGN)).toBe(0)
    },
  )

  it('a worker connects while some slots of a Cluster have no primary', async () => {
    const { url, servers } = groupOf('cluster')
    const nodes = await fetchRedisFacts(url)
    const clients = servers.map(({ port }) => connectTo(port))
    const last = 16_383
    const owner = clients[2]
    for (const client of [owner, ...clients.filter((client) => client !== owner)])
      await client?.cluster('DELSLOTS', last)
    const cluster = makeRedisConnection(url, { nodes, waits: true, silentMs: 1_000 })
    if (!(cluster instanceof Cluster)) throw new Error('it is no Cluster')
    const connected = await within(cluster.connect(), 5_000)
    cluster.disconnect()
    await owner?.cluster('ADDSLOTS', last)
    const isWhole = async (client: Redis) => String(await client.cluster('INFO')).includes('cluster_state:ok')
    for (const client of clients) await eventually(() => isWhole(client), { what: 'a complete Cluster' })
    expect(connected).toBe(true)
  })

  it.each(['cluster', 'sentinels'])(
    'polls continue within seconds of losing a primary, and no job is lost or doubled: %s',
    async (kind) => {
      const { url, primary } = groupOf(kind)
      const { jobs, polls, fetched, twice, inspect } = await open(url)
      await jobs.keepSchedules()
      await eventually(() => polls.length >= 4, { what: 'polls of both accounts' })
      expect((await inspect())?.schedules.wrong).toEqual([])
      const ids = Array.from({ length: 300 }, (_, index) => index + 1)
      await enqueue(jobs, ids)
      await primary.kill()
      const lost = Date.now()
      // Does what the sweep does: enqueues what is still wanted.
      const sweep = async () => {
        const wanted = ids.filter((id) => !fetched.has(id))
        if (wanted.length > 0) await enqueue(jobs, wanted)
        return wanted.length === 0
      }
      await eventually(() => polls.some((at) => at > lost + 200), { what: 'a poll after' })
      await eventually(sweep, { everyMs: 200, what: 'every fetch' })
      expect(twice).toEqual([])
      const facts = await eventually(async () => {
        const facts = await inspect()
        return facts?.counts.fetches.active === 0 && facts.counts.fetches.waiting === 0 && facts
      })
      expect(facts.schedules).toMatchObject({ wanted: expect.any(Number), wrong: [] })
      expect(facts.counts.fetches).toMatchObject({ failed: 0 })
    },
  )

  it('a queue needs only the rights in the docs, and keeps to its prefix', async () => {
    const server = await openOwnRedis()
    release.defer('server', () => server.close())
    const redis = connectTo(server.port)
    await redis.set('of:another', 'x')
    const docs = await readFile(new URL('../../../docs/redis.md', import.meta.url), 'utf8')
    const [, line = ''] = /^ {4}ACL (SETUSER club .*)$/m.exec(docs) ?? []
    await redis.call('ACL', ...line.split(' '))
    const bare = server.url.replace('://', '://club:password@')
    await expect(open(bare)).rejects.toMatchObject({
      code: 'queue_login_refused',
      message: expect.stringContaining('?prefix='),
    })
    await redis.call('ACL', 'LOG', 'RESET')
    const url = `${bare}?prefix=club:`
    const { jobs, polls, fetched, inspect } = await open(url)
    await jobs.keepSchedules()
    await enqueue(jobs, [1, 2])
    await eventually(() => polls.length >= 2 && fetched.size === 2, { what: 'polls and fetches' })
    expect((await inspect())?.schedules.wrong).toEqual([])
    expect(await jobs.counts()).toMatchObject({ fetches: { failed: 0 } })
    const keys = await redis.keys('*')
    expect(keys.filter((key) => !key.startsWith(`club:{musette-${IDENTITY}}:${LINE}:`))).toEqual([
      'of:another',
    ])
    await jobs.close() // its workers would write the key again
    await redis.set(`club:${FOREIGN}`, 'x')
    const error = (await open(url).catch((error: unknown) => error)) as Error
    const config = readConfig({ REDIS_URL: url })
    await type(fitCommand(/; run: (.*)$/.exec(error.message)?.[1] ?? '', config), 'password')
    expect(await redis.exists(`club:${FOREIGN}`)).toBe(0)
    // The only refused key is that of 1.0.0, which had no prefix.
    const refused = (await redis.call('ACL', 'LOG')) as string[][]
    expect(refused.map((entry) => entry[entry.indexOf('object') + 1])).toEqual(
      refused.map(() => 'musette:polls:meta'),
    )
  })
})
