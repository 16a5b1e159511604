import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import pg from 'pg'
import { ConfigError, errorCode, errorLine, TransientError } from './errors.ts'
import {
  makeRefusals,
  READ_ONLY_ROLE,
  refuseReadOnlyRole,
  refuseServer,
  refuseUser,
  UNFIT,
} from './postgres/read-only-server.ts'
import { acceptPlain, readHosts, readTlsMode } from './postgres-url.ts'
import { MINUTE, SECOND, within } from './time.ts'

/**
 * Settings that affect strings, numbers, order, isolation and triggers, with the defaults of Postgres, because a server, a database or a role
 * may change them. `jit` is off, because it compiles for longer than our queries run. Not in the list: `role`, which decides the owner of
 * tables, and `default_transaction_read_only`, which hosts use to protect a full disk.
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
 * Additional settings of connections for our own statements. Administrators may have set timeouts for all sessions, but our work may take
 * long, and listening connections are idle. `synchronous_commit` must not be off: a crash of the server would lose the last commits, and a
 * token must not be used before it is stored.
 */
const OF_OUR_OWN = `('TimeZone', 'UTC'), ('synchronous_commit', 'local'), ('statement_timeout', '0'), ('transaction_timeout', '0'),
  ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0')`

/** Makes the statement that sets pairs of name and value. The statement skips names that this version of Postgres does not know. */
const setAll = (
  pairs: string,
) => `SELECT set_config(name, value, false) FROM (VALUES ${pairs}) AS ours (name, value)
  WHERE current_setting(name, true) <> value AND (name <> 'synchronous_commit' OR current_setting(name) = 'off')`

/** SQL that identifies the session of a connection in pg_stat_activity. */
const SESSION = `pid || ' ' || extract(epoch FROM backend_start)`

/**
 * The first statements of every connection, sent as one query. With the default search_path `"$user", public`, another role of the server
 * could create a function there that fits a call better than the one of Postgres, and it would run with our rights. With the default isolation
 * of the server, a transaction could wait for others or be read-only.
 */
const firstSettings = (pairs: string) =>
  `SET search_path = pg_catalog, pg_temp; BEGIN ISOLATION LEVEL READ COMMITTED; ${setAll(pairs)}; COMMIT;
  SELECT ${SESSION} AS session, session_user::text AS "sessionUser", host(inet_server_addr()) || ':' || inet_server_port() AS server,
    pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly",
    current_setting('transaction_read_only') = 'on' AND EXISTS (SELECT FROM pg_settings
      WHERE name = 'default_transaction_read_only' AND source IN (${READ_ONLY_ROLE})) AS "isReadOnlyRole"
  FROM pg_stat_get_activity(pg_backend_pid())`
type FirstAnswer = Pick<PostgresClient, 'session' | 'server' | 'isReadOnlyRole'> & {
  standby: boolean
  readOnly: boolean
  sessionUser: string
}

/** Reports whether a session has lost its client; NULL if the server does not show that. */
const IS_DEAD = `WITH found AS (SELECT pid, CASE WHEN state = 'active' THEN coalesce(wait_event_type = 'Client', false)
    WHEN state LIKE 'idle%' THEN true END AS dead FROM pg_stat_activity WHERE ${SESSION} = $1)
  SELECT dead FROM found`
/** Terminates a session that has lost its client, which frees the session's locks. */
const END_IF_DEAD = IS_DEAD.replace(
  'SELECT dead',
  'SELECT dead, CASE WHEN dead THEN pg_terminate_backend(pid) END',
)

/** How long a running statement may be silent before its session is checked, ms. An idle connection is checked after a quarter of that. */
const SILENT_MS = 20 * SECOND
/** A silent connection ends after this multiple of SILENT_MS if the check of its session cannot reach the server. */
const GIVE_UP_AFTER = 30
/** How long the server may take to answer the check of a session, ms. */
const ANSWER_WITHIN_MS = 10 * SECOND
/** How long a server may take to accept a connection, and then to send its first answer, ms. */
const CONNECT_WITHIN_MS = 15 * SECOND
/** How long closing a connection waits for the server, which may be unreachable, ms. */
const CLOSE_WITHIN_MS = 2 * SECOND
/** When TCP starts to probe a silent connection, ms. The default is two hours. */
const KEEP_ALIVE_MS = 30 * SECOND
/** Maximum lifetime of a connection, ms, because a proxy may lead to another server now. */
const LIFE_MS = 5 * MINUTE

/** The parameter by which libpq requires SCRAM, so that psql can use the same DATABASE_URL. */
const SCRAM_ONLY = /[?&]require_auth=scram-sha-256(?:&|$)/

/** Messages of a server that make the client send the password, or a hash that reveals it. */
const SHOWS_PASSWORD: ReadonlySet<unknown> = new Set([
  'authenticationCleartextPassword',
  'authenticationMD5Password',
])
/** Messages of a server that accept the client. The server must have proved its identity before. */
const ACCEPTS_CLIENT: ReadonlySet<unknown> = new Set(['authenticationOk', 'readyForQuery'])

export type ClientConfig = pg.ClientConfig & {
  /** for statements from a person or another program: timeouts and time zone of login and URL apply, and nothing else is sent */
  typed?: boolean
  /** whether the connection is useless on a read-only server; a client that is neither `typed` nor `onlyReads` refuses a standby */
  onlyWrites?: boolean
  onlyReads?: boolean | undefined
  /** refuses a session whose user is not the URL's user, because a pooler may open sessions as its own user */
  onlyAsUser?: boolean | undefined
  /** how long the connection may be silent before the client checks it, for tests, ms */
  silentMs?: number | undefined
  /** replaces LIFE_MS in tests */
  lifeMs?: number
  /** recent refusals, shared by the connections of a pool */
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
  // The types of the driver lack these: whether the connection is idle, the running query, and the connection parameters.
  declare readonly readyForQuery: boolean
  declare readonly _activeQuery: unknown
  declare readonly connectionParameters: object
  /** identifies the connection's session; undefined before the server's first answer, null if the server does not report it */
  session: string | null | undefined
  /** address and port of the server as the server knows them, which a proxy may hide; null for a socket */
  server: string | null | undefined
  /** whether the server accepted writes at its last answer */
  takesWrites = true
  /** whether a setting of the role makes it read-only */
  isReadOnlyRole = false
  // A private field of the language, so that no log shows its password.
  readonly #config: ClientConfig
  private settled: Promise<unknown> = Promise.resolve()

  constructor(config: ClientConfig = {}) {
    const tls = readTlsMode(config.connectionString ?? '')
    const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS }
    const limited = { ...keepAlive, connectionTimeoutMillis: CONNECT_WITHIN_MS, ...config }
    super(config.connectionString === undefined ? limited : { ...limited, connectionString: tls.url })
    this.#config = limited
    if (SCRAM_ONLY.test(config.connectionString ?? '')) requireScram(this)
    // Comes last, so that requireScram does not see a refusal of TLS as an error.
    if (tls.mayBePlain) acceptPlain(this)
    // The server reports a changed setting with its next answer.
    this.connection.on('parameterStatus', (setting: { parameterName: string; parameterValue: string }) => {
      if (setting.parameterName === 'default_transaction_read_only')
        this.takesWrites = setting.parameterValue === 'off'
    })
    this.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === '25006') this.takesWrites = false
    })
    // If a connection fails before the server accepts the client, the driver leaves it open, and so the process running.
    this.connection.on('error', () => dropConnection(this))
  }

  /** Drops an `error` event without a listener, which would end the process. The next statement reports the broken connection. */
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
    const { refusals, onlyWrites, onlyReads, onlyAsUser, typed } = this.#config
    refusals?.assertOver()
    const found = await findHost(this.#config)
    // The driver uses these parameters to look up the password in a file.
    Object.assign(Object.assign(this, found).connectionParameters, found)
    await super.connect()
    const watch = watchSilence(this, this.#config)
    // Listens to the connection, because a library may remove all listeners of a client.
    this.connection.once('end', () => clearInterval(watch))
    // All other statements are queued behind this one, so none waits for a server that accepts the client and then hangs.
    const settings = firstSettings(this.#config.typed ? FIXED : `${FIXED}, ${OF_OUR_OWN}`)
    this.settled = this.query<FirstAnswer>(settings).then(
      (results) => {
        const first: Partial<FirstAnswer> = [results].flat().at(-1)?.rows[0] ?? {}
        const { session, server, standby, readOnly, sessionUser, isReadOnlyRole = false } = first
        Object.assign(this, { session, server, isReadOnlyRole, takesWrites: !readOnly })
        const isRefused = !typed && !onlyReads && (standby || (onlyWrites && readOnly))
        const refuse = () =>
          isReadOnlyRole && !standby ? refuseReadOnlyRole() : refuseServer(server, standby)
        const isOther = onlyAsUser && sessionUser !== this.user
        const refusal = isOther ? refuseUser(this.user, sessionUser) : isRefused ? refuse() : undefined
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
    // The driver drops a connection on which a statement runs. An unreachable server does not close it.
    const closing = this.settled.then(() => super.end()).catch(() => undefined)
    const ended = within(closing, CLOSE_WITHIN_MS).then((inTime) => void (inTime || dropConnection(this)))
    if (!callback) return ended
    ended.then(() => (callback as () => void)())
    return undefined
  }
}

/**
 * Finds the first host of the URL that answers and matches its `target_session_attrs`, as libpq does, over a separate connection, because
 * the driver supports only one host. A read-only host is the last choice. Undefined if the URL leaves no choice. Throws the error of the
 * last host, or a refused login at once.
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
          'no host in the database URL matches its target_session_attrs',
        )
      return client.takesWrites
    }
    const alone = { ...config, connectionString: url, connectionTimeoutMillis, refusals: undefined }
    try {
      if ((await withClient(alone, look)) || config.typed) return { host, port }
      readOnly ??= { host, port }
    } catch (error) {
      if (error instanceof pg.DatabaseError && !error.code?.startsWith('57P')) throw error
      // Prefer reporting that a host is a standby over reporting that another is down.
      if (!UNFIT.has(errorCode(failure))) failure = error
    }
  }
  if (readOnly || !failure) return readOnly
  config.refusals?.record(failure)
  throw failure
}

/** Error code for a server that accepts a connection and does not answer, such as a pooler without free connections. */
const UNANSWERED = 'database_unanswered'

/** Error code for a connection that musette closes by itself to open another one. */
export const RETIRED = 'connection_retired'
/** Makes the error for a role that has a setting which it may not change. */
function unfitSetting(cause: unknown): ConfigError {
  const message = `${errorLine(cause)}: musette cannot work with the value that this login has; ask an administrator of the server to reset it with ALTER ROLE … RESET or ALTER DATABASE … RESET`
  return new ConfigError('database_setting', message, { cause })
}

/**
 * Checks a connection that is silent, because a proxy may stop passing data without closing it. If the connection is idle, the server must
 * answer an empty statement. If a statement runs, another connection asks the server about the session. A session that is gone or waits for
 * its client has lost its connection, and both sides are ended. A connection without an answer to its first statement ends after the
 * connect timeout. Nothing is asked while this process is the slow side: it leaves rows unread or has none to write yet. A free connection
 * leaves a server that no longer takes writes. A listening connection ends here after its lifetime, because it never returns to its pool.
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
      const message = `the database accepted a connection but did not answer: ${lost.message}; a pooler in front of it may have no free connection`
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

/** Asks the server whether a session has lost its client, and terminates it if so. Returns null or undefined if that is unknown. */
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

/** Runs work on a separate connection and closes it. Throws the errors of pg and of the work. */
export async function withClient<T>(config: ClientConfig, work: (client: PostgresClient) => Promise<T>) {
  const client = new PostgresClient(config)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Open connections by pool, including those that are closing. */
const connections = new WeakMap<pg.Pool, Set<pg.PoolClient>>()
/** Makes a pool of PostgresClient connections; endPool ends it. It connects at first use. */
export function makePool(config: pg.PoolConfig & ClientConfig): pg.Pool {
  const open = new Set<pg.PoolClient>()
  const onConnect = (client: pg.ClientBase) =>
    Promise.resolve(config.onConnect?.(client)).catch((error: unknown) => {
      if (errorCode(error) !== UNANSWERED || open.size === 0) throw error
      const message = `the database answers only ${open.size} connections, but musette needs ${config.max} here; raise the limit of the pooler (default_pool_size of PgBouncer), or lower MUSETTE_CONCURRENCY`
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
 * Ends a pool when its running queries have ended, and waits up to 2 s until the server has closed its connections, so that none remain in
 * pg_stat_activity. Ignores later connection errors, because the server may stop meanwhile.
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

/** Closes a connection at once, because the driver cannot abandon a running statement. The statement fails with `error`, if given. */
export function dropConnection(client: pg.ClientBase, error?: Error): void {
  const { connection } = client as pg.Client
  if (error) connection.emit('error', error)
  else connection.stream.destroy()
}

/** Checks the events of a connection, one per message of the server, because the driver has no option for SCRAM only. */
function requireScram({ connection, host, port }: pg.Client): void {
  const emit = connection.emit.bind(connection)
  let proved = false
  let failed = false
  connection.emit = (event, ...values) => {
    if (event === 'error') failed = true
    // Later messages of a refused server in the same packet must not complete the connection.
    if (failed) return event === 'error' || event === 'end' ? emit(event, ...values) : false
    if (SHOWS_PASSWORD.has(event) || (ACCEPTS_CLIENT.has(event) && !proved)) {
      failed = true
      connection.stream.destroy()
      const message = `the server at ${host}:${port} could not prove by SCRAM that it is your database, so musette did not send the password; stop the program that listens there, then run musette again`
      return emit('error', new TransientError('database_untrusted', message))
    }
    const hadListener = emit(event, ...values)
    if (event === 'authenticationSASLFinal') proved = !failed
    return hadListener
  }
}
