import { type BackendFactory, createPostgresBackend, createRedisBackend, type IQueueBackend } from 'bullmq'
import type { Logger } from 'pino'
import { TransientError } from '../kit/errors.ts'
import { within } from '../kit/within.ts'
import { makeQueuePool, migrateQueueTables } from './connections/postgres-pool.ts'
import { checkRedis } from './connections/redis-server.ts'
import { CONNECTION_MS } from './limits.ts'

export type BackendChoice = Readonly<{ kind: 'redis'; url: string } | { kind: 'postgres'; url: string }>

/** BullMQ's backend without its kind: what a queue or worker is built on, the connection already inside. */
export type Factory = BackendFactory<IQueueBackend, object>

export type Backend = Readonly<{ factory: Factory; close: () => Promise<void> }>

/** Grows to two seconds between attempts: an outage is waited out, its end is soon noticed. */
const redisPauseMs = (times: number) => Math.min(2_000, times * 200)

/**
 * Opens the place where jobs are kept, Redis or Postgres, and sees that it answers; on Postgres BullMQ's tables are
 * brought up to date first. Everything after this is one code path. Throws TransientError `queue_unreachable`.
 */
export async function openBackend(deps: { log: Logger }, choice: BackendChoice): Promise<Backend> {
  try {
    return choice.kind === 'redis' ? await openRedis(deps, choice.url) : await openPostgres(choice.url)
  } catch (error) {
    const [place, variable] = choice.kind === 'redis' ? ['Redis', 'REDIS_URL'] : ['Postgres', 'DATABASE_URL']
    throw new TransientError(
      'queue_unreachable',
      `jobs: open the queue: ${place} cannot be used; look at ${variable} and whether it runs`,
      { cause: error },
    )
  }
}

async function openRedis(deps: { log: Logger }, url: string): Promise<Backend> {
  await checkRedis(deps, url)
  return makeRedisBackend(url)
}

async function openPostgres(url: string): Promise<Backend> {
  await migrateQueueTables(url)
  return makePostgresBackend(url)
}

/** Makes the backend on Redis; it connects when a queue is made on it. */
export function makeRedisBackend(url: string): Backend {
  const common = { url, retryStrategy: redisPauseMs, connectTimeout: CONNECTION_MS }
  // An enqueue without Redis fails within ms and is repeated by the sweep; a worker waits for Redis to come back.
  const producer = { ...common, enableOfflineQueue: false, maxRetriesPerRequest: 1 }
  const worker = { ...common, maxRetriesPerRequest: null }
  return {
    factory: (name, opts, extra) =>
      createRedisBackend(
        name,
        { ...opts, connection: extra?.withBlockingConnection ? worker : producer },
        extra,
      ),
    close: async () => undefined, // each queue and worker closes the connections it made
  }
}

/** Makes the backend on Postgres, whose tables must be there; it connects when a queue is made on it. */
export function makePostgresBackend(url: string): Backend {
  const pool = makeQueuePool(url)
  return {
    factory: (name, opts, extra) => createPostgresBackend(name, { ...opts, connection: pool }, extra),
    close: async () => {
      await within(pool.end(), CONNECTION_MS)
    },
  }
}
