import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  isPgPool,
  type PgPool,
  quoteSchemaName,
  runMigrations,
} from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Logger } from 'pino'
import { MusetteError, TransientError } from '../kit/errors.ts'
import { endPool, PostgresClient } from '../kit/postgres-client.ts'
import { sleep, within } from '../kit/time.ts'
import { CONNECTION_IDLE_MS, CONNECTION_MS } from './limits.ts'

export type BackendChoice = Readonly<{ kind: 'redis'; url: string } | { kind: 'postgres'; url: string }>

/** BullMQ's backend without its kind: what a queue or worker is built on, the connection already inside. */
type Factory = BackendFactory<IQueueBackend, object>

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

export const SCHEMA = 'bullmq'
/** Two workers hold one connection each to listen; six and a little are left for everything else. */
export const QUEUE_CONNECTIONS = 10
/** Pause before a failed connection is reported, ms: BullMQ asks again at once, thousands of times a second. */
const PAUSE_MS = 250

/** SQLSTATEs that say the server, not the statement, is the trouble: stopping, crashed, starting, full. */
const SERVER_STATES: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '53300'])

/**
 * Brings BullMQ's own tables to its version in schema `bullmq`. BullMQ's runner takes an advisory lock, so several
 * daemons may start at once. Throws pg's errors.
 */
export async function migrateQueueTables(url: string): Promise<void> {
  const client = new PostgresClient({
    connectionString: url,
    application_name: 'musette queue',
    connectionTimeoutMillis: CONNECTION_MS,
  })
  client.on('error', () => undefined) // the query that suffers says so
  await client.connect()
  try {
    await runMigrations(client, SCHEMA)
  } finally {
    await client.end()
  }
}

/**
 * Makes the pool that BullMQ works on. Every failure of a connection is slowed down and called ECONNREFUSED, the
 * only one that BullMQ's workers wait out; the true error stays in `cause`. Connects to nothing by itself.
 */
export function makeQueuePool(url: string): PgPool {
  const pool = new pg.Pool({
    Client: PostgresClient,
    connectionString: url,
    max: QUEUE_CONNECTIONS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECTION_MS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
    application_name: 'musette queue',
    onConnect: async (client) => {
      // By statement, not by a start-up option: poolers refuse those, and the URL may bring options of its own.
      await client.query(`SET search_path TO ${quoteSchemaName(SCHEMA)}`)
    },
  })
  const slow: unknown = {
    options: { keepAlive: true },
    query: (text: string, params?: readonly unknown[]) => slowed(() => pool.query(text, [...(params ?? [])])),
    connect: () => slowed(() => pool.connect()),
    end: () => endPool(pool),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
  }
  if (!isPgPool(slow)) throw new MusetteError('queue_pool', 'jobs: open the queue: BullMQ refuses the pool')
  return slow
}

async function slowed<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (isStatementError(error)) throw error
    await sleep(PAUSE_MS)
    throw Object.assign(new Error('jobs: reach the queue in Postgres: connection failed', { cause: error }), {
      code: 'ECONNREFUSED',
    })
  }
}

function isStatementError(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  const state = error.code ?? ''
  return !SERVER_STATES.has(state) && !state.startsWith('08')
}

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
async function checkRedis(deps: { log: Logger }, url: string): Promise<void> {
  const { evictionPolicy, appendOnly } = await fetchRedisFacts(url)
  if (evictionPolicy !== undefined && evictionPolicy !== 'noeviction') {
    deps.log.warn({ policy: evictionPolicy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  }
  if (!appendOnly) {
    deps.log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
  }
}
