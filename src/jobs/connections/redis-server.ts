import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { CONNECTION_MS } from '../limits.ts'

/**
 * Connects once to see that Redis answers, and warns about settings that would lose jobs: an eviction policy other
 * than `noeviction`, or no append-only file. Throws ioredis's errors.
 */
export async function checkRedis(deps: { log: Logger }, url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTION_MS,
  })
  let failure: unknown
  redis.on('error', (error) => {
    failure ??= error
  })
  try {
    await redis.connect()
    const memory = await redis.info('memory')
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1]
    if (policy !== undefined && policy !== 'noeviction') {
      deps.log.warn({ policy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
    }
    const persistence = await redis.info('persistence')
    if (/^aof_enabled:0/m.test(persistence)) {
      deps.log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
    }
  } catch (error) {
    throw failure ?? error
  } finally {
    redis.disconnect()
  }
}
