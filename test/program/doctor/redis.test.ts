import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { describeWithRedis, openOwnRedis } from '../../kit/redis.ts'
import { openCliRig } from '../cli/rig.ts'
import { doctor, type, wordsOf } from './rig.ts'

describeWithRedis('a queue in Redis', () => {
  const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))
  const server = openForAll(openOwnRedis)
  let redis: Redis
  beforeAll(() => {
    redis = new Redis(server.url, { maxRetriesPerRequest: 1 })
  })
  afterAll(() => redis.disconnect())

  const look = () => doctor(rig, { REDIS_URL: server.url })

  it('is checked by its settings, and the suggested commands repair them', async () => {
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const evicting = await look()
    expect(evicting.code).toBe(2)
    expect(evicting.of('redis').map(({ state }) => state)).toEqual(['problem', 'warning'])
    for (const { run } of evicting.of('redis')) await type('redis-cli -u', run)
    const mended = await look()
    expect([mended.code, mended.of('redis').map(({ state }) => state)]).toEqual([0, ['ok']])
    const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
    await redis.config('SET', 'maxmemory', String(Math.ceil(used * 1.05)))
    const [, full] = (await look()).of('redis')
    expect(full).toMatchObject({ state: 'warning' })
    await type('redis-cli -u', full?.run)
    expect((await look()).of('redis')).toHaveLength(1)
    await redis.config('SET', 'maxmemory', '0')
  })

  it('has its schedules counted, before a start, under a daemon, and after a flush', async () => {
    const before = await look()
    expect(before.code).toBe(0)
    const [, missing] = before.of('queue')
    expect(missing?.state).toBe('warning')
    const daemon = rig.start(await wordsOf('musette start', missing?.run), { env: { REDIS_URL: server.url } })
    await eventually(async () => (await look()).of('queue')[0]?.found.match(/\b([1-9]\d*) of \1 schedules$/))
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 })
    await redis.flushall()
    expect((await look()).of('queue')[0]?.found).toMatch(/\b0 of \d+ schedules/)
  })
})
