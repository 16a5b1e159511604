import {
  assertSchemaCompatibility,
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  isPgPool,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  type Queue,
  quoteSchemaName,
  runMigrations,
} from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Logger } from 'pino'
import {
  ConfigError,
  connectReason,
  describeCertificate,
  errorCode,
  MusetteError,
  TransientError,
} from '../../kit/errors.ts'
import type { DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import { endPool, makePool, withClient } from '../../kit/postgres-client.ts'
import { MINUTE, SECOND, type Sleep, sleep, within } from '../../kit/time.ts'

/** Where the queue is. On Redis `prefix` begins every key; `silentMs` is for tests, see SILENT_MS. */
export type BackendChoice = Readonly<
  { kind: 'redis'; url: string; prefix: string; silentMs?: number } | { kind: 'postgres'; url: string }
>

/**
 * Returns where the queue of a database is. Identity and line keep it apart from others, and from its own restored copies, on one
 * Redis; a Redis Cluster needs the braces.
 */
export function makeBackendChoice(
  redisUrl: string | undefined,
  url: string,
  { identity, line }: Pick<DatabaseIdentity, 'identity' | 'line'>,
): BackendChoice {
  if (redisUrl === undefined) return { kind: 'postgres', url }
  return { kind: 'redis', url: redisUrl, prefix: `{musette-${identity}}:${line}` }
}

/** The factory of BullMQ's backends, either kind, with its connection; queues and workers are made with it. */
type Factory = BackendFactory<IQueueBackend, object>

export type Backend = Readonly<{
  factory: Factory
  prefix?: string
  /** Throws when Redis answers but takes no writes, see asQueueError. */
  checkWrites?: (queue: Pick<Queue, 'trimEvents'>) => Promise<unknown>
  close: () => Promise<void>
}>

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
    await (choice.kind === 'redis' ? checkRedis(deps, choice.url) : migrateQueueTables(choice.url))
    return makeBackend(choice)
  } catch (error) {
    throw unreachableQueue(choice.kind, error)
  }
}

/**
 * Makes the TransientError `queue_unreachable` of an error of the driver, or of Redis `queue_certificate` and ConfigError
 * `queue_login_refused`; one that fetchRedisFacts has made stays as it is.
 */
function unreachableQueue(kind: BackendChoice['kind'], error: unknown): MusetteError {
  if (error instanceof MusetteError) return error
  const place = kind === 'redis' ? 'Redis' : 'the queue in Postgres'
  const refused = describeCertificate(error, place, 'REDIS_URL', 'NODE_EXTRA_CA_CERTS')
  if (refused) return new TransientError('queue_certificate', refused, { cause: error })
  const word = redisWordOf(error, /^(NOAUTH|WRONGPASS|NOPERM)\b/)
  if (word) {
    const message = `Redis refused the login (${word}); write user and password into REDIS_URL: redis://user:password@host:6379`
    return new ConfigError('queue_login_refused', message, { cause: error })
  }
  const message = `${place} cannot be reached (${connectReason(error)})`
  return new TransientError('queue_unreachable', message, { cause: error })
}

/** Makes the backend; its queues and workers open the connections. On Postgres its tables must exist. */
export function makeBackend(choice: BackendChoice): Backend {
  if (choice.kind === 'redis') return redisBackend(choice)
  const pool = makeQueuePool(choice.url)
  return {
    factory: (name, opts, extra) => createPostgresBackend(name, { ...opts, connection: pool }, extra),
    close: async () => void (await within(pool.end(), CONNECTION_MS)),
  }
}

/**
 * Removes the keys of 1.0.0, which began alike for every database, unless a worker of it is connected: another database may have it.
 * Nothing is lost, because every start makes its queue anew from Postgres.
 */
async function removeOldKeys(redis: Redis): Promise<void> {
  if (!(await redis.exists('musette:polls:meta'))) return
  if (String(await redis.client('LIST')).includes(' name=musette:')) return
  for await (const keys of redis.scanStream({ match: 'musette:*', count: 1_000 }))
    if (keys.length > 0) await redis.unlink(keys)
}

/** How long Redis may be silent after a command, ms, before a new connection is made: a worker's command blocks for 10 s. */
const SILENT_MS = 30 * SECOND

type RedisChoice = Extract<BackendChoice, { kind: 'redis' }>

function redisBackend({ url, prefix, silentMs = SILENT_MS }: RedisChoice): Backend {
  const common = {
    url,
    retryStrategy: redisPauseMs,
    connectTimeout: CONNECTION_MS,
    socketTimeout: silentMs,
    // After a failover the same address leads to another server.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
  }
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
    prefix,
    // A write that changes nothing: BullMQ keeps this many events anyway.
    checkWrites: (queue) => queue.trimEvents(10_000).catch((error) => Promise.reject(asQueueError(error))),
    close: async () => undefined, // each queue and worker closes the connections it made
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
 * Makes the pool for BullMQ. `pause` delays every failure; failures of a connection or of the whole server get the code ECONNREFUSED, with
 * the original error as `cause`. It connects at the first use.
 */
export function makeQueuePool(url: string, pause: Sleep = sleep, silentMs?: number): PgPool {
  const pool = makePool({
    connectionString: url,
    max: QUEUE_CONNECTIONS,
    silentMs,
    onlyWrites: true,
    connectionTimeoutMillis: CONNECTION_MS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
    application_name: 'musette queue',
    onConnect: async (client) => {
      // By a statement, because poolers refuse start-up options, and the URL may have its own.
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

/** Returns an error of makeQueuePool's connections, of a replica and of a key that is not of BullMQ as one that says what to do, and any other as it is. */
export function asQueueError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (errorCode(error) === REFUSED && error.cause) return unreachableQueue('postgres', error.cause)
  const word = redisWordOf(error, /READONLY|WRONGTYPE/)
  if (word === 'READONLY')
    return new TransientError('queue_read_only', `${REPLICA.found}; run: ${REPLICA.run}`, { cause: error })
  // The command of the error has the keys.
  const prefix = word && /\{musette-[^}]+\}:[^:]+/.exec(JSON.stringify(error))?.[0]
  if (!prefix) return error
  const message = `another program wrote a key of the queue in Redis; remove the queue, which is then made anew; run: redis-cli -u "$REDIS_URL" eval "for _, key in ipairs(redis.call('keys', ARGV[1])) do redis.call('unlink', key) end" 0 '${prefix}:*'`
  return new ConfigError('queue_foreign_key', message, { cause: error })
}

/** Finds a word in an error of Redis, which has no other code. */
function redisWordOf(error: unknown, words: RegExp): string | undefined {
  return error instanceof Error && error.name === 'ReplyError' ? words.exec(error.message)?.[0] : undefined
}

/** The message about a Redis replica. */
export const REPLICA = {
  found: 'Redis takes no writes, because it is a replica; REDIS_URL must lead to its primary',
  run: 'redis-cli -u "$REDIS_URL" role',
}

/** Runs a statement. The pool's own query ends the connection when the statement fails, and signing in again costs more. */
async function queryOn(client: pg.PoolClient, text: string, params: readonly unknown[] = []) {
  const release = (error?: unknown) =>
    client.release(error !== undefined && !(error instanceof pg.DatabaseError && error.severity === 'ERROR'))
  const result = client.query(text, [...params])
  result.then(() => release(), release)
  return result
}

/** Facts from a Redis server's INFO; sizes in bytes, `maxMemory` 0 means no limit. */
export type RedisFacts = Awaited<ReturnType<typeof fetchRedisFacts>>

/** Fetches a Redis server's INFO over a connection of its own, which the signal ends. Throws TransientError `queue_unreachable`. */
export async function fetchRedisFacts(url: string, signal?: AbortSignal) {
  const fetchInfo = async (redis: Redis) => {
    const info = await redis.info()
    const find = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
    const evictionPolicy = find('maxmemory_policy')
    return {
      version: find('redis_version') ?? 'unknown',
      evictionPolicy,
      /** whether its policy lets it delete jobs when its memory is full */
      mayEvictJobs: evictionPolicy !== undefined && evictionPolicy !== 'noeviction',
      usedMemory: Number(find('used_memory') ?? 0),
      maxMemory: Number(find('maxmemory') ?? 0),
      appendOnly: find('aof_enabled') === '1',
      /** whether its last write to disk succeeded */
      lastWriteOk: find('rdb_last_bgsave_status') !== 'err' && find('aof_last_write_status') !== 'err',
      /** whether it still reads its data from the disk, or is a replica, and takes no jobs */
      isLoading: find('loading') === '1' || find('async_loading') === '1',
      isReplica: find('role') === 'slave' && find('slave_read_only') !== '0',
    }
  }
  return withRedis(url, fetchInfo, signal)
}

/** Does work over a separate connection. Throws TransientError `queue_unreachable`. */
async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>, signal?: AbortSignal) {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTION_MS,
    commandTimeout: CONNECTION_MS,
    // INFO also answers while Redis loads its data.
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
    return await work(redis)
  } catch (error) {
    throw unreachableQueue('redis', failure ?? error)
  } finally {
    signal?.removeEventListener('abort', drop)
    redis.disconnect()
  }
}

/** Checks that Redis answers, logs settings that would lose jobs, and removes old keys. Throws TransientError `queue_unreachable`. */
async function checkRedis(deps: { log: Logger }, url: string): Promise<void> {
  const { evictionPolicy, mayEvictJobs, appendOnly } = await fetchRedisFacts(url)
  if (mayEvictJobs)
    deps.log.warn({ policy: evictionPolicy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  if (!appendOnly)
    deps.log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
  // Not every login may list the clients.
  await withRedis(url, removeOldKeys).catch(() => undefined)
}
