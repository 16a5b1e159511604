import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import pg from 'pg'
import { ConfigError, errorCode, errorLine, TransientError } from './errors.ts'
import {
  makeRefusals,
  READ_ONLY_ROLE,
  refuseReadOnlyRole,
  refuseServer,
  UNFIT,
} from './postgres/read-only-server.ts'
import { acceptPlain, readHosts, readTlsMode } from './postgres-url.ts'
import { MINUTE, SECOND, within } from './time.ts'

/**
 * Settings that texts, numbers, order, isolation and triggers depend on, with Postgres's defaults, because a server, a database or a role
 * may change them. JIT compiles for longer than our queries run. Without `role`, which decides the owner of the tables, and
 * `default_transaction_read_only`, by which hosts protect a full disk.
 */
const FIXED = `('DateStyle', 'ISO, MDY'), ('IntervalStyle', 'postgres'), ('extra_float_digits', '1'), ('bytea_output', 'hex'),
  ('xmlbinary', 'base64'), ('xmloption', 'content'), ('client_encoding', 'UTF8'), ('lc_monetary', 'C'), ('lc_numeric', 'C'),
  ('lc_time', 'C'), ('timezone_abbreviations', 'Default'), ('array_nulls', 'on'), ('transform_null_equals', 'off'),
  ('standard_conforming_strings', 'on'), ('quote_all_identifiers', 'off'), ('row_security', 'on'),
  ('default_transaction_isolation', 'read committed'), ('default_transaction_deferrable', 'off'),
  ('session_replication_role', 'origin'), ('check_function_bodies', 'on'), ('default_table_access_method', 'heap'),
  ('restrict_nonsystem_relation_kind', ''), ('exit_on_error', 'off'), ('client_min_messages', 'notice'),
  ('plan_cache_mode', 'auto'), ('jit', 'off')`

/**
 * What connections for our own statements set as well. An administrator may have set limits in time for all sessions, but our work may
 * take long, and the connections that listen are idle. Without a wait for the disk a crash of the server loses what was committed
 * last, and a token must not be used before it is kept.
 */
const OF_OUR_OWN = `('TimeZone', 'UTC'), ('synchronous_commit', 'local'), ('statement_timeout', '0'), ('transaction_timeout', '0'),
  ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0')`

/** Writes the statement that sets pairs of name and value; names that this version of Postgres does not know are left out. */
const setAll = (
  pairs: string,
) => `SELECT set_config(name, value, false) FROM (VALUES ${pairs}) AS ours (name, value)
  WHERE current_setting(name, true) <> value AND (name <> 'synchronous_commit' OR current_setting(name) = 'off')`

/** Identifies the server process of a connection in pg_stat_activity. */
const SESSION = `pid || ' ' || extract(epoch FROM backend_start)`

/**
 * What every connection of ours sets first, in one text. With `"$user", public`, Postgres's default path, a function that another role
 * of the server has made in one of these schemas and that fits the types of a call better than Postgres's own would run with our
 * rights. A transaction of the server's default isolation could wait for others, or be read-only.
 */
const firstSettings = (pairs: string) =>
  `SET search_path = pg_catalog, pg_temp; BEGIN ISOLATION LEVEL READ COMMITTED; ${setAll(pairs)}; COMMIT;
  SELECT ${SESSION} AS session, host(inet_server_addr()) || ':' || inet_server_port() AS server,
    pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly",
    current_setting('transaction_read_only') = 'on' AND EXISTS (SELECT FROM pg_settings
      WHERE name = 'default_transaction_read_only' AND source IN (${READ_ONLY_ROLE})) AS "isReadOnlyRole"
  FROM pg_stat_get_activity(pg_backend_pid())`
type FirstAnswer = Pick<PostgresClient, 'session' | 'server' | 'isReadOnlyRole'> & {
  standby: boolean
  readOnly: boolean
}

/** Tells whether a session works for nobody, NULL when the server does not tell. */
const IS_DEAD = `WITH found AS (SELECT pid, CASE WHEN state = 'active' THEN coalesce(wait_event_type = 'Client', false)
    WHEN state LIKE 'idle%' THEN true END AS dead FROM pg_stat_activity WHERE ${SESSION} = $1)
  SELECT dead FROM found`
/** Ends the session then, for its locks. */
const END_IF_DEAD = IS_DEAD.replace(
  'SELECT dead',
  'SELECT dead, CASE WHEN dead THEN pg_terminate_backend(pid) END',
)

/** How long a connection may be silent before it is looked after, ms. */
const SILENT_MS = 20 * SECOND
/** Silence of this many times as long ends a connection for which the server could not be asked. */
const GIVE_UP_AFTER = 30
/** How long the server may take to say whether it works for a session, ms. */
const ANSWER_WITHIN_MS = 10 * SECOND
/** How long a server may take to accept a connection, and how long it may then take for the first answer, ms. */
const CONNECT_WITHIN_MS = 15 * SECOND
/** How long the end of a connection waits for the server, which may be out of reach, ms. */
const CLOSE_WITHIN_MS = 2 * SECOND
/** The time after which TCP checks a silent connection, ms; the default is two hours. */
const KEEP_ALIVE_MS = 30 * SECOND
/** The life of a connection, ms: behind a proxy that leads elsewhere since, an old one would stay at the old server for ever. */
const LIFE_MS = 5 * MINUTE

/** The name and value of libpq for this, so that a DATABASE_URL can require the same. */
const SCRAM_ONLY = /[?&]require_auth=scram-sha-256(?:&|$)/

/** Requests of a server that would make the client send the password, or a hash that reveals it. */
const SHOWS_PASSWORD: ReadonlySet<unknown> = new Set([
  'authenticationCleartextPassword',
  'authenticationMD5Password',
])
/** Messages by which a server accepts the client; the server must have proved its identity before. */
const ACCEPTS_CLIENT: ReadonlySet<unknown> = new Set(['authenticationOk', 'readyForQuery'])

export type ClientConfig = pg.ClientConfig & {
  /** for statements that a person or another program wrote: limits and zone of the login and the URL hold, and nothing else is sent */
  typed?: boolean
  /** whether it is of no use at a server that is only read; a standby is refused by all that are neither `typed` nor `onlyReads` */
  onlyWrites?: boolean
  onlyReads?: boolean | undefined
  /** how long it may be silent before it is looked after, for tests, ms */
  silentMs?: number | undefined
  /** how long it lives, for tests, ms */
  lifeMs?: number
  /** of a pool */
  refusals?: ReturnType<typeof makeRefusals> | undefined
}

/**
 * The client of every connection to Postgres, also in pools. No setting of the server, the database or the role changes its results
 * (firstSettings), and it ends a silently dead connection (watchSilence). With `require_auth=scram-sha-256` in the URL it authenticates by
 * SCRAM only, in which the server also proves that it knows the password (RFC 5802), so that another program on the server's port does not
 * learn it; that connection fails with TransientError `database_untrusted`. `sslmode` and several hosts work as in libpq, see readTlsMode
 * and findHost. Names without a schema are Postgres's own until the owner of the connection sets a `search_path`. Unless it is `typed` or `onlyReads`, it
 * fails at a standby with TransientError `database_standby`, and leaves a server that takes no writes any more.
 */
export class PostgresClient extends pg.Client {
  // The driver's types lack these: whether nothing runs, what runs, and what it was made with.
  declare readonly readyForQuery: boolean
  declare readonly _activeQuery: unknown
  declare readonly connectionParameters: object
  /** identifies its session; undefined before the first answer of the server, null when it gives none */
  session: string | null | undefined
  /** address and port that its server has for itself, which a proxy may hide; null for a socket */
  server: string | null | undefined
  /** whether its server took writes when it last answered */
  takesWrites = true
  /** whether a setting of its role makes it read-only */
  isReadOnlyRole = false
  // Private to the language, so that no log shows the password in it.
  readonly #config: ClientConfig
  private settled: Promise<unknown> = Promise.resolve()

  constructor(config: ClientConfig = {}) {
    const tls = readTlsMode(config.connectionString ?? '')
    const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS }
    const limited = { ...keepAlive, connectionTimeoutMillis: CONNECT_WITHIN_MS, ...config }
    super(config.connectionString === undefined ? limited : { ...limited, connectionString: tls.url })
    this.#config = limited
    if (SCRAM_ONLY.test(config.connectionString ?? '')) requireScram(this)
    // Comes last, so that a refusal of TLS is not an error to the function above.
    if (tls.mayBePlain) acceptPlain(this)
    // The server reports a change of a setting with its next answer.
    this.connection.on('parameterStatus', (setting: { parameterName: string; parameterValue: string }) => {
      if (setting.parameterName === 'default_transaction_read_only')
        this.takesWrites = setting.parameterValue === 'off'
    })
    this.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === '25006') this.takesWrites = false
    })
    // The driver leaves a connection open that fails before the server has accepted the client, and the process with it.
    this.connection.on('error', () => dropConnection(this))
  }

  /** The next statement reports a connection that broke; Node would end the process for an error without a listener. */
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    return (event !== 'error' || this.listenerCount(event) > 0) && super.emit(event, ...values)
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const connected = this.connectSafely()
    if (!callback) return connected
    // The pool expects no argument on success.
    connected.then(() => (callback as () => void)(), callback)
    return undefined
  }

  private async connectSafely(): Promise<pg.Client> {
    const { refusals, onlyWrites, onlyReads, typed } = this.#config
    refusals?.assertOver()
    const found = await findHost(this.#config)
    // The driver looks for the password in a file by its parameters.
    Object.assign(Object.assign(this, found).connectionParameters, found)
    await super.connect()
    const watch = watchSilence(this, this.#config)
    // On the connection, because a library may remove all listeners of a client.
    this.connection.once('end', () => clearInterval(watch))
    // All other statements stand behind it in the queue, so none waits for a server that accepts the client and then hangs.
    const settings = firstSettings(this.#config.typed ? FIXED : `${FIXED}, ${OF_OUR_OWN}`)
    this.settled = this.query<FirstAnswer>(settings).then(
      (results) => {
        const {
          session,
          server,
          standby,
          readOnly,
          isReadOnlyRole = false,
        } = [results].flat().at(-1)?.rows[0] ?? {}
        Object.assign(this, { session, server, isReadOnlyRole, takesWrites: !readOnly })
        const isRefused = !typed && !onlyReads && (standby || (onlyWrites && readOnly))
        const refuse = () =>
          isReadOnlyRole && !standby ? refuseReadOnlyRole() : refuseServer(server, standby)
        const refusal = isRefused ? refuse() : undefined
        refusals?.record(refusal)
        if (refusal) dropConnection(this, refusal)
      },
      (error) => dropConnection(this, errorCode(error) === '42501' ? unfitSetting(error) : undefined),
    )
    return this
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    // The driver breaks a connection off on which a statement runs. A server that is out of reach does not close it.
    const closing = this.settled.then(() => super.end()).catch(() => undefined)
    const ended = within(closing, CLOSE_WITHIN_MS).then((inTime) => void (inTime || dropConnection(this)))
    if (!callback) return ended
    ended.then(() => (callback as () => void)())
    return undefined
  }
}

/**
 * Finds the first host of the URL that answers and fits its `target_session_attrs`, as libpq does, by a connection of its own: the
 * driver knows one host; one that is only read is the last choice. Undefined when the URL leaves no choice. Throws the error of the last host, or at once a refused login.
 */
async function findHost(config: ClientConfig): Promise<{ host: string; port: number } | undefined> {
  const { hosts, fits } = readHosts(config.connectionString ?? '') ?? { hosts: [], fits: '' }
  let failure: unknown
  let readOnly: { host: string; port: number } | undefined
  for (const { host, port, url } of hosts) {
    const connectionTimeoutMillis = (config.connectionTimeoutMillis ?? CONNECT_WITHIN_MS) / (hosts.length + 1)
    const look = async (client: PostgresClient) => {
      const { rows } = await client.query<{ fits: boolean }>(`SELECT ${fits} AS fits`)
      if (!rows[0]?.fits)
        throw new TransientError(
          'database_unfit',
          'no host of the database URL fits its target_session_attrs',
        )
      return client.takesWrites
    }
    const alone = { ...config, connectionString: url, connectionTimeoutMillis, refusals: undefined }
    try {
      if ((await withClient(alone, look)) || config.typed) return { host, port }
      readOnly ??= { host, port }
    } catch (error) {
      if (error instanceof pg.DatabaseError && !error.code?.startsWith('57P')) throw error
      // That one is a standby says more than that another one is down.
      if (!UNFIT.has(errorCode(failure))) failure = error
    }
  }
  if (readOnly || !failure) return readOnly
  config.refusals?.record(failure)
  throw failure
}

/** The code of a server that accepts a connection and then does not answer it, as a pooler does that has none left. */
const UNANSWERED = 'database_unanswered'

/** The code of a connection that musette ends by itself, to make another one. */
export const RETIRED = 'connection_retired'
/** A role can have a setting that it may not change. */
function unfitSetting(cause: unknown): ConfigError {
  const message = `${errorLine(cause)}: this login has it at a value that musette cannot work with; let an administrator of the server type ALTER ROLE … RESET, or ALTER DATABASE … RESET, with its name`
  return new ConfigError('database_setting', message, { cause })
}

/**
 * Looks after a connection that is silent: a proxy may pass nothing on and close nothing. While nothing runs, an empty statement has to
 * be answered. While something runs, however long, another connection asks whether the server works for this one; a session that waits
 * for its client, or is gone, has lost its connection and is ended on both sides. A connection whose first statement is not answered
 * ends after the time to connect. Nobody asks while it is this process that leaves rows lying, or has none to write yet. A free one leaves a
 * server that takes no writes any more; one that listens ends after its life here, because it is never given back to its pool.
 */
function watchSilence(client: PostgresClient, config: ClientConfig): NodeJS.Timeout {
  const { typed, onlyReads, silentMs = SILENT_MS, lifeMs = LIFE_MS, connectionTimeoutMillis = 0 } = config
  const begunAt = performance.now()
  let moved = -1
  let since = begunAt
  let asking = false
  const countSilentMs = () => {
    const stream = client.connection.stream as Socket
    const copy = client._activeQuery
    const isSlowHere =
      stream.readableLength > 0 ||
      (stream.isPaused() && stream.listenerCount('readable') === 0) ||
      (copy instanceof Writable && !copy.writableEnded && copy.writableLength + stream.writableLength === 0)
    const bytes = stream.bytesRead + stream.bytesWritten - stream.writableLength
    if (bytes !== moved || isSlowHere) since = performance.now()
    moved = bytes
    return performance.now() - since
  }
  const look = async () => {
    const silence = countSilentMs()
    const lost = new Error(`the connection was silent for ${Math.round(silence / SECOND)} s`)
    if (client.session === undefined) {
      const message = `the database accepted a connection and did not answer: ${lost.message}; a pooler before it may have none left`
      if (silence >= connectionTimeoutMillis)
        dropConnection(client, new TransientError(UNANSWERED, message, { cause: lost }))
    } else if (client.readyForQuery) {
      const isFree = client.getTransactionStatus() === 'I' && !typed
      const isOld = performance.now() - begunAt > lifeMs && client.listenerCount('notification') > 0
      if (isFree && (!(client.takesWrites || onlyReads) || isOld))
        dropConnection(client, new TransientError(RETIRED, 'another connection may lead to another server'))
      else if (silence >= silentMs / 4 && !typed) client.query('').catch(() => undefined)
    } else if (!asking && silence >= silentMs) {
      asking = true
      const isDead = await isSessionDead(client.session, config)
      asking = false
      if (countSilentMs() >= silentMs && (isDead ?? silence > GIVE_UP_AFTER * silentMs))
        dropConnection(client, lost)
    }
  }
  return setInterval(look, silentMs / 4).unref()
}

/** Asks the server whether it works for nobody in a session, and ends that one then; null or undefined when it cannot tell. */
function isSessionDead(session: string | null, config: ClientConfig): Promise<boolean | null | undefined> {
  type Found = { dead: boolean | null }
  // A login may have no right to end sessions.
  const look = (other: PostgresClient) =>
    other.query<Found>(END_IF_DEAD, [session]).catch(() => other.query<Found>(IS_DEAD, [session]))
  return withClient({ ...config, connectionTimeoutMillis: ANSWER_WITHIN_MS }, look).then(
    ({ rows }) => (rows[0] ? rows[0].dead : session !== null || null),
    () => undefined,
  )
}

/** Runs work on a separate connection, and ends that. Throws the errors of pg and of the work. */
export async function withClient<T>(config: ClientConfig, work: (client: PostgresClient) => Promise<T>) {
  const client = new PostgresClient(config)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The connections of each pool, also those that are still closing. */
const connections = new WeakMap<pg.Pool, Set<pg.PoolClient>>()
/** Makes a pool of PostgresClient connections, to be ended by endPool. It connects at the first use. */
export function makePool(config: pg.PoolConfig & ClientConfig): pg.Pool {
  const open = new Set<pg.PoolClient>()
  const onConnect = (client: pg.ClientBase) =>
    Promise.resolve(config.onConnect?.(client)).catch((error: unknown) => {
      if (errorCode(error) !== UNANSWERED || open.size === 0) throw error
      const message = `the database answers ${open.size} connections of musette and lets the next one wait, and it needs ${config.max} here; give it more in the pooler (default_pool_size of PgBouncer), or lower MUSETTE_CONCURRENCY`
      throw new TransientError('database_pool_small', message, { cause: error })
    })
  const lived = { maxLifetimeSeconds: (config.lifeMs ?? LIFE_MS) / SECOND, refusals: makeRefusals() }
  const pool = new pg.Pool({ ...lived, ...config, onConnect, Client: PostgresClient })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void open.add(client))
  pool.on('remove', (client) => void open.delete(client))
  connections.set(pool, open)
  return pool
}

/**
 * Ends a pool after the running queries of its connections, and waits until the server has closed them, for 2 s at most, so
 * none remain in pg_stat_activity. Later errors of connections are ignored, because the server may stop meanwhile.
 */
export async function endPool(pool: pg.Pool): Promise<void> {
  pool.removeAllListeners('error').on('error', () => undefined)
  await pool.end()
  const open = connections.get(pool)
  const closed = async () => {
    while (open && open.size > 0) await new Promise((resolve) => pool.once('remove', resolve))
  }
  await within(closed(), CLOSE_WITHIN_MS)
}

/** Ends a connection at once, because the driver cannot leave a running statement; that gets the error, if any. */
export function dropConnection(client: pg.ClientBase, error?: Error): void {
  const { connection } = client as pg.Client
  if (error) connection.emit('error', error)
  else connection.stream.destroy()
}

/** Checks the events of a connection, one for each message of the server, because the driver has no option for this. */
function requireScram({ connection, host, port }: pg.Client): void {
  const emit = connection.emit.bind(connection)
  let proved = false
  let failed = false
  connection.emit = (event, ...values) => {
    if (event === 'error') failed = true
    // Later messages in the same packet of a refused server must not complete the connection.
    if (failed) return event === 'error' || event === 'end' ? emit(event, ...values) : false
    if (SHOWS_PASSWORD.has(event) || (ACCEPTS_CLIENT.has(event) && !proved)) {
      failed = true
      connection.stream.destroy()
      const message = `the server at ${host}:${port} did not prove by SCRAM that it is the database, so musette did not send the password; end the program that listens there, then run it again`
      return emit('error', new TransientError('database_untrusted', message))
    }
    const hadListener = emit(event, ...values)
    if (event === 'authenticationSASLFinal') proved = !failed
    return hadListener
  }
}
