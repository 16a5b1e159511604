import {
  assertSchemaCompatibility,
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  isPgPool,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  quoteSchemaName,
  runMigrations,
} from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Logger } from 'pino'
import { connectReason, errorCode, MusetteError, TransientError } from '../kit/errors.ts'
import { endPool, makePool, withClient } from '../kit/postgres-client.ts'
import { MINUTE, SECOND, type Sleep, sleep, within } from '../kit/time.ts'

export type BackendChoice = Readonly<{ kind: 'redis'; url: string } | { kind: 'postgres'; url: string }>

/** The factory of BullMQ's backends, either kind, with its connection; queues and workers are made with it. */
type Factory = BackendFactory<IQueueBackend, object>

export type Backend = Readonly<{ factory: Factory; close: () => Promise<void> }>

/** How long any single connection may take to open or close, ms. */
export const CONNECTION_MS = 10 * SECOND
/** How long a connection to Postgres is kept for the next job, ms: signing in again costs more than most jobs. */
const CONNECTION_IDLE_MS = 1 * MINUTE
/** Computes the pause before a reconnect, ms, at most two seconds: a worker survives an outage and notices its end soon. */
const redisPauseMs = (times: number) => Math.min(2_000, times * 200)

/**
 * Opens the backend of the queues, Redis or Postgres, and checks that it answers; on Postgres BullMQ's tables are migrated
 * first. All later code is the same for both. Throws TransientError `queue_unreachable`.
 */
export async function openBackend(deps: { log: Logger }, choice: BackendChoice): Promise<Backend> {
  try {
    return choice.kind === 'redis' ? await openRedis(deps, choice.url) : await openPostgres(choice.url)
  } catch (error) {
    throw unreachableQueue(choice.kind, error)
  }
}

/** Makes the TransientError `queue_unreachable` of an error of the driver; one that fetchRedisFacts has made stays as it is. */
function unreachableQueue(kind: BackendChoice['kind'], error: unknown): TransientError {
  if (error instanceof TransientError) return error
  const place = kind === 'redis' ? 'Redis' : 'the queue in Postgres'
  const message = `${place} cannot be reached (${connectReason(error)})`
  return new TransientError('queue_unreachable', message, { cause: error })
}

async function openRedis(deps: { log: Logger }, url: string): Promise<Backend> {
  await checkRedis(deps, url)
  return makeRedisBackend(url)
}

async function openPostgres(url: string): Promise<Backend> {
  await migrateQueueTables(url)
  return makePostgresBackend(url)
}

/** Makes the backend on Redis; its queues and workers open the connections. */
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

/** Makes the backend on Postgres, whose tables must exist; its queues and workers open the connections. */
export function makePostgresBackend(url: string): Backend {
  const pool = makeQueuePool(url)
  return {
    factory: (name, opts, extra) => createPostgresBackend(name, { ...opts, connection: pool }, extra),
    close: async () => {
      await within(pool.end(), CONNECTION_MS)
    },
  }
}

const SCHEMA = 'bullmq'
/** Two workers keep one connection each for LISTEN; the rest is for everything else. */
export const QUEUE_CONNECTIONS = 10
/** The only code of an error after which BullMQ's workers reconnect. */
const REFUSED = 'ECONNREFUSED'
/** Pause before a failure is reported, ms: BullMQ tries again at once, a hundred times a second and more. */
const PAUSE_MS = 1 * SECOND

/** SQLSTATEs of a server that fails as a whole (away, full, stopping, read-only, damaged), in contrast to one statement. */
const SERVER_STATE = /^(08|28|3D|53|57P|58|F0|XX|25006)/
/** SQLSTATEs by which the functions of BullMQ answer: a parent or a job that is missing. */
const ANSWER = /^(BM|23)/

/**
 * Brings BullMQ's own tables to its version in schema `bullmq`. BullMQ's runner takes an advisory lock, so several
 * daemons may start at once. Throws pg's errors.
 */
export async function migrateQueueTables(url: string): Promise<void> {
  await withQueueClient(url, (client) => runMigrations(client, SCHEMA))
}

/** The versions of BullMQ's own tables: in this database, 0 where there are none, and in this program. */
export type QueueVersions = { from: number; to: number }

/** Finds the versions of BullMQ's own tables. Throws TransientError `queue_unreachable`, also for tables that are too new. */
export async function findQueueVersions(url: string): Promise<QueueVersions> {
  try {
    const from = (await hasQueueTables(url))
      ? await withQueueClient(url, (client) => assertSchemaCompatibility(client, SCHEMA))
      : 0
    return { from, to: LATEST_SCHEMA_VERSION }
  } catch (error) {
    throw unreachableQueue('postgres', error)
  }
}

/** Tells whether BullMQ's own tables were ever made in this database. Throws pg's errors. */
export async function hasQueueTables(url: string): Promise<boolean> {
  return withQueueClient(url, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [SCHEMA])
    return rowCount === 1
  })
}

function withQueueClient<T>(url: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  return withClient({ connectionString: url, application_name: 'musette queue' }, work)
}

/**
 * Makes the pool that BullMQ works on. Every failure is delayed by `pause`; that of a connection or of the whole server gets the
 * code ECONNREFUSED, and the original error is its `cause`. Opens no connection by itself.
 */
export function makeQueuePool(url: string, pause: Sleep = sleep, silentMs?: number): PgPool {
  const pool = makePool({
    connectionString: url,
    max: QUEUE_CONNECTIONS,
    silentMs,
    connectionTimeoutMillis: CONNECTION_MS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
    application_name: 'musette queue',
    onConnect: async (client) => {
      // By statement, not by a start-up option: poolers refuse those, and the URL may bring options of its own.
      await client.query(`SET search_path TO pg_catalog, ${quoteSchemaName(SCHEMA)}`)
    },
  })
  const delayFailure = async <T>(action: () => Promise<T>, ofServer: RegExp): Promise<T> => {
    try {
      return await action()
    } catch (error) {
      const state = error instanceof pg.DatabaseError ? (error.code ?? '') : undefined
      if (state !== undefined && ANSWER.test(state)) throw error
      await pause(PAUSE_MS)
      if (state !== undefined && !ofServer.test(state)) throw error
      const message = `jobs: reach the queue in Postgres: ${connectReason(error)}`
      throw Object.assign(new Error(message, { cause: error }), { code: REFUSED })
    }
  }
  // Whatever the server answers to a connection, the queue cannot be reached.
  const connect = () => delayFailure(() => pool.connect(), /^/)
  const delayed: unknown = {
    options: { keepAlive: true },
    query: async (text: string, params?: readonly unknown[]) => {
      const client = await connect()
      return delayFailure(() => queryOn(client, text, params), SERVER_STATE)
    },
    connect,
    end: () => endPool(pool),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
  }
  if (!isPgPool(delayed))
    throw new MusetteError('queue_pool', 'jobs: open the queue: BullMQ refuses the pool')
  return delayed
}

/** Returns TransientError `queue_unreachable` for a connection that makeQueuePool could not make, and any other error as it is. */
export function asQueueError(error: unknown): unknown {
  const refused = error instanceof Error && errorCode(error) === REFUSED
  return refused ? unreachableQueue('postgres', error.cause ?? error) : error
}

/** Runs a statement. The pool's own query ends the connection when the statement fails, and signing in again costs more. */
async function queryOn(client: pg.PoolClient, text: string, params: readonly unknown[] = []) {
  const ignore = () => undefined // the statement that fails reports a connection that broke
  client.on('error', ignore)
  let broken = true
  try {
    const result = await client.query(text, [...params])
    broken = false
    return result
  } catch (error) {
    broken = !(error instanceof pg.DatabaseError) || error.severity !== 'ERROR'
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}

/** Facts from a Redis server's INFO; sizes in bytes, `maxMemory` 0 means no limit. */
export type RedisFacts = Readonly<{
  version: string
  evictionPolicy: string | undefined
  /** whether its policy lets it delete jobs when its memory is full */
  mayEvictJobs: boolean
  usedMemory: number
  maxMemory: number
  appendOnly: boolean
  /** whether its last write to disk succeeded */
  lastWriteOk: boolean
  /** whether it still reads its data from the disk and takes no jobs yet */
  isLoading: boolean
}>

/** Fetches a Redis server's INFO over a connection of its own, which the signal ends. Throws TransientError `queue_unreachable`. */
export async function fetchRedisFacts(url: string, signal?: AbortSignal): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTION_MS,
    commandTimeout: CONNECTION_MS,
    // Its INFO answers while it loads its data, too.
    enableReadyCheck: false,
  })
  const drop = () => redis.disconnect()
  signal?.addEventListener('abort', drop, { once: true })
  let failure: unknown
  redis.on('error', (error) => {
    failure ??= error
  })
  try {
    await redis.connect()
    const info = await redis.info()
    const find = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
    const evictionPolicy = find('maxmemory_policy')
    return {
      version: find('redis_version') ?? 'unknown',
      evictionPolicy,
      mayEvictJobs: evictionPolicy !== undefined && evictionPolicy !== 'noeviction',
      usedMemory: Number(find('used_memory') ?? 0),
      maxMemory: Number(find('maxmemory') ?? 0),
      appendOnly: find('aof_enabled') === '1',
      lastWriteOk: find('rdb_last_bgsave_status') !== 'err' && find('aof_last_write_status') !== 'err',
      isLoading: find('loading') === '1' || find('async_loading') === '1',
    }
  } catch (error) {
    throw unreachableQueue('redis', failure ?? error)
  } finally {
    signal?.removeEventListener('abort', drop)
    redis.disconnect()
  }
}

/**
 * Checks that Redis answers, and logs settings that would lose jobs: an eviction policy other than `noeviction`, or no
 * append-only file. Throws TransientError `queue_unreachable`.
 */
async function checkRedis(deps: { log: Logger }, url: string): Promise<void> {
  const { evictionPolicy, mayEvictJobs, appendOnly } = await fetchRedisFacts(url)
  if (mayEvictJobs) {
    deps.log.warn({ policy: evictionPolicy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  }
  if (!appendOnly) {
    deps.log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
  }
}
