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

/** Where the queue is. On Redis `prefix` begins every key; `silentMs` is for tests, see SILENT_MS. */
export type BackendChoice = Readonly<
  { kind: 'redis'; url: string; prefix: string; silentMs?: number } | { kind: 'postgres'; url: string }
>

/** Returns where the queue of a database is. Identity and line keep it apart on one Redis; a Redis Cluster needs the braces. */
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
  /** of BullMQ's backends, either kind, with its connection; queues and workers are made with it */
  factory: BackendFactory<IQueueBackend, object>
  prefix: string
  /** how long an idle worker waits for a notification before it looks at its queue, s */
  waitS: number
  /** Throws when Redis answers but takes no writes, see asQueueError. */
  checkWrites?: (queue: Pick<Queue, 'trimEvents'>) => Promise<unknown>
  close: () => Promise<void>
}>

/** How long a connection to Postgres is kept for the next job, ms: signing in again costs more than most jobs. */
const CONNECTION_IDLE_MS = 1 * MINUTE

/**
 * Opens the backend of the queues, Redis or Postgres, and checks that it answers; on Postgres BullMQ's tables are migrated
 * first. All later code is the same for both. Throws TransientError `queue_unreachable`.
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

/** How long Redis may be silent after a command, ms, before a new connection is made: a worker's command blocks for 10 s. */
const SILENT_MS = 30 * SECOND
/** Notifications of Postgres are lost only with their connection, and then it is made anew. */
const WAIT_S = { redis: 5, postgres: 60 }

/** Makes the backend; its queues and workers open the connections. On Postgres its tables must exist. */
export function makeBackend(choice: BackendChoice, nodes: readonly RedisFacts[]): Backend {
  if (choice.kind === 'postgres') {
    const pool = makeQueuePool(choice.url)
    return {
      factory: (name, opts, extra) => {
        const backend = createPostgresBackend(name, { ...opts, connection: pool }, extra)
        const recover = backend.moveStalledJobsToWait.bind(backend)
        // It writes down when it was called, so that an idle queue would write to the disk at each call.
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
    // A write that changes nothing: BullMQ keeps this many events anyway.
    checkWrites: (queue) => queue.trimEvents(10_000).catch((error) => Promise.reject(asQueueError(error))),
    close: async () => {
      for (const cluster of clusters) cluster.disconnect()
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

/** Brings BullMQ's tables in schema `bullmq` to its version. Its runner takes an advisory lock, so several daemons may start at once. */
export async function migrateQueueTables(url: string): Promise<void> {
  await withQueueClient(url, (client) => runMigrations(client, SCHEMA))
}

/** Finds the versions of BullMQ's tables, here (0: none) and in this program. Throws TransientError `queue_unreachable`, also for too new ones. */
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
  if (isPgPool(delayed)) return delayed
  throw new MusetteError('queue_pool', 'jobs: open the queue: BullMQ refuses the pool')
}

/** Returns an error of makeQueuePool's connections, of a replica and of a key that is not of BullMQ as one that says what to do, and any other as it is. */
export function asQueueError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (errorCode(error) === REFUSED && error.cause) return unreachableQueue('postgres', error.cause)
  if ('lastNodeError' in error) return unreachableQueue('redis', error.lastNodeError) // of a Cluster
  const login = asRefusedLogin(error)
  if (login) return login
  const word = redisWordOf(error, /READONLY|WRONGTYPE/)
  if (word === 'READONLY')
    return new TransientError('queue_read_only', `${REPLICA.found}; run: ${REPLICA.run}`, { cause: error })
  // The command of the error has the keys.
  const prefix = word && /[\w.:-]*\{musette-[^}]+\}:[^:]+/.exec(JSON.stringify(error))?.[0]
  if (!prefix) return error
  const message = `another program wrote a key of the queue in Redis; remove the queue, which is then made anew; run: redis-cli -u "$REDIS_URL" -c eval "for _, key in ipairs(redis.call('keys', KEYS[1])) do redis.call('unlink', key) end" 1 '${prefix}:*'`
  return new ConfigError('queue_foreign_key', message, { cause: error })
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

/** Fetches the facts about Redis, logs settings that would lose jobs, and removes old keys. Throws as fetchRedisFacts does. */
async function checkRedis({ log }: { log: Logger }, url: string): Promise<RedisFacts[]> {
  const nodes = await fetchRedisFacts(url)
  const policy = nodes.find(({ evictionPolicy }) => evictionPolicy)?.evictionPolicy
  if (policy) log.warn({ policy }, 'jobs: Redis may evict jobs; set: maxmemory-policy noeviction')
  if (nodes.some(({ appendOnly }) => !appendOnly))
    log.info('jobs: Redis has no append-only file; jobs lost in a crash are found again by the sweep')
  await removeOldKeys(url, nodes)
  return nodes
}
