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
import { Cluster } from 'ioredis'
import pg from 'pg'
import type { Logger } from 'pino'
import { ConfigError, connectReason, errorCode, MusetteError, TransientError } from '../../kit/errors.ts'
import type { DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import { endPool, makePool, withClient } from '../../kit/postgres-client.ts'
import { MINUTE, SECOND, type Sleep, sleep, within } from '../../kit/time.ts'
import {
  asRefusedLogin,
  CONNECTION_MS,
  fetchRedisFacts,
  makeRedisConnection,
  parseAddress,
  type RedisFacts,
  redisWordOf,
  removeOldKeys,
  unreachableQueue,
} from './redis.ts'

/** Where the queue is. On Redis every key starts with `prefix`. `silentMs` is for tests, see SILENT_MS. */
export type BackendChoice = Readonly<
  { kind: 'redis'; url: string; prefix: string; silentMs?: number } | { kind: 'postgres'; url: string }
>

/** Returns where the queue of a database is. Identity and line separate databases that share a Redis. A Redis Cluster needs the braces. */
export function makeBackendChoice(
  redisUrl: string | undefined,
  url: string,
  { identity, line }: Pick<DatabaseIdentity, 'identity' | 'line'>,
): BackendChoice {
  if (redisUrl === undefined) return { kind: 'postgres', url }
  return {
    kind: 'redis',
    url: redisUrl,
    prefix: `${parseAddress(redisUrl).prefix}{musette-${identity}}:${line}`,
  }
}

export type Backend = Readonly<{
  /** creates a BullMQ backend with its connection, for a queue or a worker */
  factory: BackendFactory<IQueueBackend, object>
  prefix: string
  /** how long an idle worker waits for a notification before it polls its queue, s */
  waitS: number
  /** Throws if Redis answers but refuses writes, see asQueueError. */
  checkWrites?: (queue: Pick<Queue, 'trimEvents'>) => Promise<unknown>
  close: () => Promise<void>
}>

/** How long an idle connection to Postgres is kept, ms: signing in again costs more than most jobs. */
const CONNECTION_IDLE_MS = 1 * MINUTE

/**
 * Opens the backend of the queues, Redis or Postgres, and checks that it answers. On Postgres it first migrates the tables of BullMQ.
 * Throws TransientError `queue_unreachable`.
 */
export async function openBackend(deps: { log: Logger }, choice: BackendChoice): Promise<Backend> {
  try {
    if (choice.kind === 'redis') return makeBackend(choice, await checkRedis(deps, choice.url))
    await migrateQueueTables(choice.url)
    return makeBackend(choice, [])
  } catch (error) {
    throw unreachableQueue(choice.kind, error)
  }
}

/** How long Redis may be silent after a command before the connection is replaced, ms: commands of a worker block for 10 s. */
const SILENT_MS = 30 * SECOND
/** How long an idle worker waits for a notification before it polls its queue, s. Long on Postgres: a notification is lost only with the connection, and the worker then reconnects. */
const WAIT_S = { redis: 5, postgres: 60 }

/** Makes the backend. Its queues and workers open the connections. On Postgres the tables must exist. */
export function makeBackend(choice: BackendChoice, nodes: readonly RedisFacts[]): Backend {
  if (choice.kind === 'postgres') {
    const pool = makeQueuePool(choice.url)
    return {
      factory: (name, opts, extra) => {
        const backend = createPostgresBackend(name, { ...opts, connection: pool }, extra)
        const recover = backend.moveStalledJobsToWait.bind(backend)
        // Each call of the original records its time, so an idle queue would write to the disk.
        backend.moveStalledJobsToWait = async () => {
          const [active = 0] = await backend.getCounts(['active'])
          return active > 0 ? recover() : []
        }
        return backend
      },
      prefix: 'musette',
      waitS: WAIT_S.postgres,
      close: async () => void (await within(pool.end(), CONNECTION_MS)),
    }
  }
  const { url, prefix, silentMs = SILENT_MS } = choice
  const clusters: Cluster[] = []
  return {
    factory: (name, opts, extra) => {
      const waits = extra?.withBlockingConnection === true
      const connection = makeRedisConnection(url, { nodes, waits, silentMs })
      if (connection instanceof Cluster) clusters.push(connection)
      return createRedisBackend(name, { ...opts, connection }, extra)
    },
    prefix,
    waitS: WAIT_S.redis,
    // A write that changes nothing: BullMQ keeps this number of events anyway.
    checkWrites: (queue) => queue.trimEvents(10_000).catch((error) => Promise.reject(asQueueError(error))),
    close: async () => {
      for (const cluster of clusters) cluster.disconnect()
    },
  }
}

const SCHEMA = 'bullmq'
/** Maximum number of connections to Postgres. Each of the two workers keeps one for LISTEN. */
export const QUEUE_CONNECTIONS = 10
/** The only error code after which the workers of BullMQ reconnect. */
const REFUSED = 'ECONNREFUSED'
/** Pause before a failure is reported, ms: BullMQ retries at once, over a hundred times a second. */
const PAUSE_MS = 1 * SECOND

/** SQLSTATEs of a server that fails as a whole (unreachable, full, stopping, read-only, damaged), as opposed to one statement. */
const SERVER_STATE = /^(08|28|3D|53|57P|58|F0|XX|25006)/
/** SQLSTATEs that are results of functions of BullMQ: a parent or a job is missing. */
const ANSWER = /^(BM|23)/

/** Migrates the tables of BullMQ in schema `bullmq` to its version. BullMQ takes an advisory lock, so several daemons may start at once. */
export async function migrateQueueTables(url: string): Promise<void> {
  await withQueueClient(url, (client) => runMigrations(client, SCHEMA))
}

/**
 * Finds the versions of the tables of BullMQ: `from` in this database (0 without tables), `to` in this program. Throws TransientError
 * `queue_unreachable`, also if the tables are too new.
 */
export async function findQueueVersions(url: string) {
  try {
    const from = (await hasQueueTables(url))
      ? await withQueueClient(url, (client) => assertSchemaCompatibility(client, SCHEMA))
      : 0
    return { from, to: LATEST_SCHEMA_VERSION }
  } catch (error) {
    throw unreachableQueue('postgres', error)
  }
}

/** Reports whether this database has tables of BullMQ. Throws pg's errors. */
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
 * Makes the pool for BullMQ. `pause` delays every failure. Failures of a connection or of the whole server get the code ECONNREFUSED and
 * the original error as `cause`. It connects at first use.
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
      // A statement, because poolers refuse startup options, and the URL may have its own.
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
  // If a connection fails, the queue is unreachable, whatever the error is.
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
  if (isPgPool(delayed)) return delayed
  throw new MusetteError('queue_pool', 'jobs: open the queue: BullMQ rejected the pool')
}

/** Returns an error that says what to do for an unreachable queue, a refused login, a replica and a foreign key; any other error as it is. */
export function asQueueError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (errorCode(error) === REFUSED && error.cause) return unreachableQueue('postgres', error.cause)
  if ('lastNodeError' in error) return unreachableQueue('redis', error.lastNodeError) // of a Cluster
  const login = asRefusedLogin(error)
  if (login) return login
  const word = redisWordOf(error, /READONLY|WRONGTYPE/)
  if (word === 'READONLY')
    return new TransientError('queue_read_only', `${REPLICA.found}; run: ${REPLICA.run}`, { cause: error })
  // The command in the error contains the keys.
  const prefix = word && /[\w.:-]*\{musette-[^}]+\}:[^:]+/.exec(JSON.stringify(error))?.[0]
  if (!prefix) return error
  const message = `another program overwrote a key of the queue in Redis; delete the queue and musette rebuilds it; run: redis-cli -u "$REDIS_URL" -c eval "for _, key in ipairs(redis.call('keys', KEYS[1])) do redis.call('unlink', key) end" 1 '${prefix}:*'`
  return new ConfigError('queue_foreign_key', message, { cause: error })
}

/** The message about a Redis replica. */
export const REPLICA = {
  found: 'Redis is a read-only replica; REDIS_URL must point to its primary',
  run: 'redis-cli -u "$REDIS_URL" role',
}

/** Runs a statement. The query function of the pool would end the connection if the statement fails, and signing in again costs more. */
async function queryOn(client: pg.PoolClient, text: string, params: readonly unknown[] = []) {
  const release = (error?: unknown) =>
    client.release(error !== undefined && !(error instanceof pg.DatabaseError && error.severity === 'ERROR'))
  const result = client.query(text, [...params])
  result.then(() => release(), release)
  return result
}

/** Fetches facts about Redis, logs settings that could lose jobs, and removes old keys. Throws as fetchRedisFacts does. */
async function checkRedis({ log }: { log: Logger }, url: string): Promise<RedisFacts[]> {
  const nodes = await fetchRedisFacts(url)
  const policy = nodes.find(({ evictionPolicy }) => evictionPolicy)?.evictionPolicy
  if (policy) log.warn({ policy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  if (nodes.some(({ appendOnly }) => !appendOnly))
    log.info('jobs: Redis has no append-only file; the sweep enqueues again what a crash loses')
  await removeOldKeys(url, nodes)
  return nodes
}
