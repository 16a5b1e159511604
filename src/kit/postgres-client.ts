import pg from 'pg'
import { TransientError } from './errors.ts'
import { acceptPlain, readTlsMode } from './postgres-tls.ts'
import { SECOND, within } from './time.ts'

/**
 * What every connection of ours sets first. With `"$user", public`, Postgres's default path, a function that another role of the
 * server has made in one of these schemas and that fits the types of a call better than Postgres's own would run with our rights.
 * JIT compiles for longer than our queries run.
 */
const FIRST_SETTINGS = 'SET search_path = pg_catalog, pg_temp; SET jit = off'

/**
 * Takes off the limits in time that an administrator has set for all sessions: our own work may take long, and the connections
 * that listen are idle. `transaction_timeout` is unknown before Postgres 17.
 */
export const WITHOUT_LIMITS = `SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`

/** The name and value of libpq for this, so that a DATABASE_URL can require the same. */
const SCRAM_ONLY = /[?&]require_auth=scram-sha-256(?:&|$)/

/** Requests of a server after which the client would send the password, or a hash from which the server can compute it. */
const SHOWS_PASSWORD: ReadonlySet<unknown> = new Set([
  'authenticationCleartextPassword',
  'authenticationMD5Password',
])
/** Messages by which a server accepts the client; the server must have proved its identity before. */
const ACCEPTS_CLIENT: ReadonlySet<unknown> = new Set(['authenticationOk', 'readyForQuery'])

/**
 * The client of every connection to Postgres, also in pools. With `require_auth=scram-sha-256` in the URL it authenticates by
 * SCRAM only, in which the server also proves that it knows the password (RFC 5802): another program on the server's port
 * does not learn the password. The connection to such a program fails with TransientError `database_untrusted`. `sslmode` means
 * what it means to libpq, see readTlsMode. Names without a schema are those of Postgres itself, until the owner of the connection
 * sets another `search_path`.
 */
export class PostgresClient extends pg.Client {
  private settled: Promise<unknown> = Promise.resolve()

  constructor(config: pg.ClientConfig = {}) {
    const tls = readTlsMode(config.connectionString ?? '')
    super(config.connectionString === undefined ? config : { ...config, connectionString: tls.url })
    if (SCRAM_ONLY.test(config.connectionString ?? '')) requireScram(this)
    // Comes last, so that a refusal of TLS is not an error to the function above.
    if (tls.mayBePlain) acceptPlain(this)
    // The driver leaves a connection open that fails before the server has accepted the client, and the process with it.
    this.connection.on('error', () => dropConnection(this))
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
    await super.connect()
    // All other statements stand behind it in the queue, so nobody waits for a server that accepts the client and then hangs.
    this.settled = this.query(FIRST_SETTINGS).catch(() => dropConnection(this))
    return this
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    // The driver breaks a connection off on which a statement runs.
    const ended = this.settled.then(() => super.end())
    if (!callback) return ended
    ended.then(() => (callback as () => void)(), callback)
    return undefined
  }
}

/** Runs work on a connection of its own, and ends that. Throws the errors of pg and of the work. */
export async function withClient<T>(
  config: pg.ClientConfig,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const client = new PostgresClient(config)
  // The statement that fails reports a connection that broke.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The connections of each pool, also those that are still closing. */
const connections = new WeakMap<pg.Pool, Set<pg.PoolClient>>()
/** How long the end of a pool waits for the server, which may be out of reach, ms. */
const CLOSE_WITHIN_MS = 2 * SECOND

/** Makes a pool of PostgresClient connections, to be ended by endPool. Opens no connection by itself. */
export function makePool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...config, Client: PostgresClient })
  const open = new Set<pg.PoolClient>()
  pool.on('connect', (client) => void open.add(client))
  pool.on('remove', (client) => void open.delete(client))
  connections.set(pool, open)
  return pool
}

/**
 * Ends a pool after the running queries of its connections, and waits until the server has closed them, for 2 s at most: who looks
 * into pg_stat_activity next sees none of them. Later errors of connections are ignored, because the server may stop meanwhile.
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

/** Ends a connection at once: the driver cannot be told to leave a statement that it waits for. */
export function dropConnection(client: pg.ClientBase): void {
  ;(client as pg.Client).connection.stream.destroy()
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
      return emit('error', untrusted(host, port))
    }
    const hadListener = emit(event, ...values)
    if (event === 'authenticationSASLFinal') proved = !failed
    return hadListener
  }
}

function untrusted(host: string, port: number): TransientError {
  return new TransientError(
    'database_untrusted',
    `the server at ${host}:${port} did not prove by SCRAM that it is the database, so musette did not send the password; ` +
      'end the program that listens there, then run it again',
  )
}
