import { Cluster, Redis } from 'ioredis'
import {
  ConfigError,
  connectReason,
  describeCertificate,
  MusetteError,
  TransientError,
} from '../../kit/errors.ts'
import { parseRedisUrl, type RedisAddress, type RedisHost } from '../../kit/redis/redis-url.ts'
import { SECOND } from '../../kit/time.ts'

/** How long a connection may take to open or close, ms. */
export const CONNECTION_MS = 10 * SECOND
/** How long and at which interval a worker of a Cluster repeats a command while a replica becomes the primary, ms. After that time its job is lost. */
const [FAILOVER_MS, FAILOVER_EVERY_MS] = [60 * SECOND, 200]

/** Computes the pause before a reconnect, ms: at most 2 s, so that a worker survives an outage and soon notices its end. */
const pauseMs = (times: number) => Math.min(2_000, times * 200)

/** Parses a REDIS_URL that config has checked. */
export function parseAddress(url: string): RedisAddress {
  const address = parseRedisUrl(url)
  if (!address) throw new ConfigError('queue_address', 'REDIS_URL is not a Redis URL; run: musette config')
  return address
}

/**
 * Makes the connection for BullMQ: a client for a Cluster, which the caller ends, otherwise options. With `waits` a command waits until Redis
 * is back, as workers need. Otherwise a command without Redis fails soon, and the sweep repeats the work. `silentMs`: how long Redis may be
 * silent after a command.
 */
export function makeRedisConnection(
  url: string,
  { nodes, waits, silentMs }: { nodes: readonly RedisFacts[]; waits: boolean; silentMs: number },
) {
  const address = parseAddress(url)
  const { hosts, group } = address
  const common = {
    ...optionsOf(address),
    connectTimeout: CONNECTION_MS,
    socketTimeout: silentMs,
    maxRetriesPerRequest: waits ? null : 1,
    // After a failover the same address may lead to another server.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
  }
  if (!nodes.some(({ isCluster }) => isCluster)) {
    const servers = group ? { sentinels: [...hosts], name: group } : hosts[0]
    return { ...common, ...servers, retryStrategy: pauseMs, enableOfflineQueue: waits }
  }
  const cluster = new Cluster([...nodes.map(({ server }) => server), ...hosts], {
    redisOptions: common,
    lazyConnect: true,
    enableOfflineQueue: waits,
    // With the check, connect() never settles while some slots have no primary, and a reconnecting worker would wait forever.
    enableReadyCheck: false,
    clusterRetryStrategy: pauseMs,
    // A certificate names the host, not its IP address.
    dnsLookup: (host, done) => done(null, host),
    ...(waits && {
      retryDelayOnFailover: FAILOVER_EVERY_MS,
      retryDelayOnClusterDown: FAILOVER_EVERY_MS,
      maxRedirections: FAILOVER_MS / FAILOVER_EVERY_MS,
    }),
  })
  cluster.on('error', () => undefined) // BullMQ reports errors until it has closed
  return cluster
}

/** Returns login, TLS and parameters for every server of a REDIS_URL. */
function optionsOf({ isTls, options }: Pick<RedisAddress, 'isTls' | 'options'>) {
  return { ...options, ...(isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }) }
}

/** Facts about a Redis server from INFO. Sizes are in bytes; `maxMemory` 0 means no limit. */
export type RedisFacts = Awaited<ReturnType<typeof fetchFacts>>

/**
 * Fetches facts about the server of a REDIS_URL, about the primary of a sentinel group, or about each primary of a Cluster that answers.
 * Opens separate connections; `signal` ends them. Throws TransientError `queue_unreachable`, and ConfigError for what a person must fix.
 */
export async function fetchRedisFacts(url: string, signal?: AbortSignal): Promise<RedisFacts[]> {
  const address = parseAddress(url)
  const { hosts, group, options } = address
  const look = (server: RedisHost) =>
    withRedis({ ...optionsOf(address), ...server }, (redis) => fetchFacts(redis, server), signal)
  if (group) return [await look(await fetchPrimary({ ...address, group }, signal))]
  const first = await firstAnswer(hosts, look)
  if (!first.isCluster) {
    if (hosts.length === 1) return [first]
    const message = `REDIS_URL names several hosts, but ${hosts[0]?.host} is not a node of a Cluster; name one host, or use sentinels: redis-sentinel://host:26379,host:26379/0#name`
    throw new ConfigError('queue_hosts', message)
  }
  if (options.db) {
    const message = `a Redis Cluster has only database 0; remove /${options.db} from REDIS_URL`
    throw new ConfigError('queue_database', message)
  }
  const found = await Promise.allSettled(first.primaries.map(look))
  const nodes = found.flatMap((node) => (node.status === 'fulfilled' ? [node.value] : []))
  return nodes.length > 0 ? nodes : [first]
}

async function fetchFacts(redis: Redis, server: RedisHost) {
  const info = await redis.info()
  const find = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  const isCluster = find('redis_mode') === 'cluster'
  const slots = isCluster ? await redis.cluster('SLOTS') : []
  const isComplete = !isCluster || String(await redis.cluster('INFO')).includes('cluster_state:ok')
  const isLoading = /^(async_)?loading:1/m.test(info)
  return {
    server,
    isCluster,
    /** the primaries of the Cluster */
    primaries: [
      ...new Map(
        slots.flatMap(([, , node]) => (node ? [[`${node}`, { host: node[0], port: node[1] }]] : [])),
      ).values(),
    ],
    version: find('redis_version') ?? 'unknown',
    /** policy by which it deletes keys when its memory is full */
    evictionPolicy: /^maxmemory_policy:(?!noeviction\b)(\S+)/m.exec(info)?.[1],
    usedMemory: Number(find('used_memory') ?? 0),
    maxMemory: Number(find('maxmemory') ?? 0),
    appendOnly: find('aof_enabled') === '1',
    /** whether its last write to disk succeeded */
    lastWriteOk: find('rdb_last_bgsave_status') !== 'err' && find('aof_last_write_status') !== 'err',
    /** why it is not ready for jobs */
    notReady: isLoading
      ? 'it is loading its data'
      : isComplete
        ? undefined
        : 'some slots of its Cluster have no primary',
    isReplica: !isCluster && find('role') === 'slave' && find('slave_read_only') !== '0',
  }
}

/** Asks the sentinels of a group for its primary. Throws as fetchRedisFacts does. */
async function fetchPrimary(address: RedisAddress & { group: string }, signal?: AbortSignal) {
  const { hosts, group, sentinelLogin: options } = address
  const found = await firstAnswer(hosts, (server) =>
    withRedis(
      { ...optionsOf({ ...address, options }), ...server },
      (redis) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', group),
      signal,
    ),
  )
  if (Array.isArray(found)) return { host: String(found[0]), port: Number(found[1]) }
  const message = `the sentinels know no group "${group}"; write its name after the # in REDIS_URL`
  throw new ConfigError('queue_group', message)
}

/** Returns the result of the first server that answers. If none does, throws the error of the first in the list. */
function firstAnswer<T>(hosts: readonly RedisHost[], look: (server: RedisHost) => Promise<T>): Promise<T> {
  return Promise.any(hosts.map(look)).catch(({ errors }: AggregateError) => Promise.reject(errors[0]))
}

/** Runs work on a separate connection. Throws TransientError `queue_unreachable`. */
async function withRedis<T>(
  options: RedisHost & ReturnType<typeof optionsOf>,
  work: (redis: Redis) => Promise<T>,
  signal?: AbortSignal,
) {
  const redis = new Redis({
    ...options,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTION_MS,
    commandTimeout: CONNECTION_MS,
    // INFO answers even while Redis loads its data.
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

/**
 * Removes the keys of 1.0.0, which were the same for every database, unless a worker of 1.0.0 is connected: they may belong to another
 * database. Nothing is lost, because every start rebuilds its queue from Postgres. Ignores errors, because a login may lack the rights.
 * 1.0.0 did not support a Cluster.
 */
export async function removeOldKeys(url: string, [facts]: readonly RedisFacts[]): Promise<void> {
  if (!facts || facts.isCluster) return
  const options = { ...optionsOf(parseAddress(url)), ...facts.server }
  await withRedis(options, async (redis) => {
    if (!(await redis.exists('musette:polls:meta'))) return
    if (String(await redis.client('LIST')).includes(' name=musette:')) return
    for await (const keys of redis.scanStream({ match: 'musette:*', count: 1_000 }))
      if (keys.length > 0) await redis.unlink(keys)
  }).catch(() => undefined)
}

/** Makes the TransientError or ConfigError for an error of the driver or of Redis. An error of musette is returned as it is. */
export function unreachableQueue(kind: 'redis' | 'postgres', error: unknown): MusetteError {
  if (error instanceof MusetteError) return error
  const place = kind === 'redis' ? 'Redis' : 'the queue in Postgres'
  const refused = describeCertificate(error, place, 'REDIS_URL', 'NODE_EXTRA_CA_CERTS')
  if (refused) return new TransientError('queue_certificate', refused, { cause: error })
  const login = asRefusedLogin(error)
  if (login) return login
  const message = `${place} cannot be reached (${connectReason(error)})`
  return new TransientError('queue_unreachable', message, { cause: error })
}

/** Returns the ConfigError for a login that Redis refused or that lacks rights; undefined for other errors. */
export function asRefusedLogin(error: unknown): ConfigError | undefined {
  const word = redisWordOf(error, /^(NOAUTH|WRONGPASS|NOPERM)\b/)
  const mend =
    word === 'NOPERM'
      ? 'grant its user the rights in docs/redis.md, and add the prefix of its keys to REDIS_URL: redis://host:6379?prefix=name:'
      : 'set user and password in REDIS_URL: redis://user:password@host:6379'
  const message = `Redis refused the login (${word}); ${mend}`
  return word === undefined ? undefined : new ConfigError('queue_login_refused', message, { cause: error })
}

/** Finds a word in an error of Redis, which has no error code. */
export function redisWordOf(error: unknown, words: RegExp): string | undefined {
  return error instanceof Error && error.name === 'ReplyError' ? words.exec(error.message)?.[0] : undefined
}
