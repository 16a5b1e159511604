import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { CONNECTION_MS } from '../limits.ts'

/** What a Redis server says of itself; sizes in bytes, `maxMemory` 0 means no limit. */
export type RedisFacts = Readonly<{
  version: string
  evictionPolicy: string | undefined
  usedMemory: number
  maxMemory: number
  appendOnly: boolean
  /** whether its last attempt to write to its disk went well */
  lastWriteOk: boolean
}>

/** Connects once and asks Redis about itself. Throws ioredis's errors. */
export async function fetchRedisFacts(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTION_MS,
    commandTimeout: CONNECTION_MS,
  })
  let failure: unknown
  redis.on('error', (error) => {
    failure ??= error
  })
  try {
    await redis.connect()
    const told = await redis.info()
    const find = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(told)?.[1]
    return {
      version: find('redis_version') ?? 'unknown',
      evictionPolicy: find('maxmemory_policy'),
      usedMemory: Number(find('used_memory') ?? 0),
      maxMemory: Number(find('maxmemory') ?? 0),
      appendOnly: find('aof_enabled') === '1',
      lastWriteOk: find('rdb_last_bgsave_status') !== 'err' && find('aof_last_write_status') !== 'err',
    }
  } catch (error) {
    throw failure ?? error
  } finally {
    redis.disconnect()
  }
}

/**
 * Connects once to see that Redis answers, and warns about settings that would lose jobs: an eviction policy other
 * than `noeviction`, or no append-only file. Throws ioredis's errors.
 */
export async function checkRedis(deps: { log: Logger }, url: string): Promise<void> {
  const { evictionPolicy, appendOnly } = await fetchRedisFacts(url)
  if (evictionPolicy !== undefined && evictionPolicy !== 'noeviction') {
    deps.log.warn({ policy: evictionPolicy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  }
  if (!appendOnly) {
    deps.log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
  }
}
