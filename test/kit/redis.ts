import { Redis } from 'ioredis'
import { describe, inject } from 'vitest'
import './provided.ts'
import { findRedisBinary, runsWith } from './binaries.ts'
import { openRedisServer, type RedisServer } from './redis-server.ts'

const WITHOUT =
  'redis-server is not installed, so the tests that need it do not run; run: apt-get install redis-server'

/**
 * Opens an empty database on the shared Redis server; `close` empties it. Tests may use FLUSHDB there. FLUSHALL, CONFIG and outages need
 * `openOwnRedis`.
 */
export async function openTestRedis(): Promise<{ url: string; close(): Promise<void> }> {
  const shared = inject('redisUrl')
  if (!shared) throw new Error(WITHOUT)
  const number = await withRedis(shared, (redis) => redis.incr('last database given to a test'))
  const url = `${shared}/${number}`
  return { url, close: () => withRedis(url, async (redis) => void (await redis.flushdb())) }
}

/** Starts a Redis server for one test, which may kill, restart and flush it. */
export async function openOwnRedis(settings?: readonly string[]): Promise<RedisServer> {
  const binary = findRedisBinary()
  if (!binary) throw new Error(WITHOUT)
  return openRedisServer(binary, settings)
}

/** A `describe` for tests that need Redis. Without it, they are skipped with a message (in CI they fail). */
export function describeWithRedis(name: string, tests: () => void): void {
  if (runsWith(inject('redisUrl'))) describe(name, tests)
  else describe.skip(`${name} (${WITHOUT})`, tests)
}

async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 })
  redis.on('error', () => undefined)
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
