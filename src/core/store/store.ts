import { eq } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type { Logger } from 'pino'
import { errorCode, errorLine, MusetteError } from '../../kit/errors.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { refuseReadOnlyRole, UNFIT } from '../../kit/postgres/read-only-server.ts'
import { endPool, makePool, PostgresClient, RETIRED } from '../../kit/postgres-client.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'
import { type DatabaseStep, mapDatabaseError, sqlstateOf } from './database-errors.ts'
import { locks } from './schema/index.ts'

/** One connection inside one transaction. */
export type Tx = { readonly db: NodePgDatabase; readonly client: pg.PoolClient }

export type Store = ReturnType<typeof openStore>

type StoreOptions = {
  connectionString: string
  maxConnections?: number
  silentMs?: number
  /** also accepts a standby, and a read-only server */
  onlyReads?: boolean
  /** see ClientConfig */
  onlyAsUser?: boolean
}

// Maximum wait for a lock, ms: a slow COPY may hold a lock that long.
const LOCK_TIMEOUT_MS = MINUTE
// A token refresh waits for the service inside a transaction, for two minutes at most.
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5 * MINUTE
const CONNECT_TIMEOUT_MS = 15 * SECOND
// Longer than the pause between two sweeps, because reconnecting for each would be most of an idle daemon's work.
const IDLE_TIMEOUT_MS = MINUTE
const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/**
 * Opens the store on a pool of connections; it connects on first use. Every database error that leaves the store is a TransientError
 * (`database_unreachable`, `database_busy`), a ConfigError (`database_unmigrated`, `database_login_refused`, `database_role_read_only`, …)
 * or a MusetteError (`database_error`), and contains no parameters.
 */
export function openStore({ log }: { log: Logger }, options: StoreOptions) {
  const settings = `SET lock_timeout = ${LOCK_TIMEOUT_MS};
    SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`
  const pool = makePool({
    connectionString: options.connectionString,
    max: options.maxConnections ?? 10,
    application_name: 'musette',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    silentMs: options.silentMs,
    onlyReads: options.onlyReads,
    onlyAsUser: options.onlyAsUser,
    // The pool awaits this promise, although its type does not say so. Settings sent as a query also reach a server behind a pooler.
    onConnect: async (client) => {
      await client.query(settings)
      problems.over('server')
      const { server: now, takesWrites } = client as PostgresClient
      isOnlyRead = options.onlyReads === true && !takesWrites
      if (server && now && now !== server)
        log.info({ now, before: server }, 'connected to another database server')
      server = now ?? server
    },
  })
  let server: string | undefined
  let isOnlyRead = false
  const problems = makeLogOnce(log)
  pool.on('error', (error) => {
    if (!UNFIT.has(errorCode(error)) && errorCode(error) !== RETIRED)
      log.warn({ reason: errorLine(error) }, 'lost an idle database connection')
  })
  const connect = async () => {
    try {
      return await pool.connect()
    } catch (error) {
      if (UNFIT.has(errorCode(error))) problems.say('warn', 'server', errorLine(error))
      throw mapDatabaseError(error, 'connect')
    }
  }
  const within = async <T>(begin: string, fn: (tx: Tx) => Promise<T>): Promise<T> => {
    const client = await connect()
    let broken = false
    let step: DatabaseStep = 'query'
    const onError = () => {
      broken = true
    }
    client.on('error', onError)
    try {
      await client.query(begin)
      const result = await fn({ db: drizzle(client), client })
      step = 'commit'
      const { command } = await client.query('COMMIT')
      // Postgres answers the COMMIT of a failed transaction with ROLLBACK and no error; that must not count as success.
      if (command === 'ROLLBACK')
        throw new MusetteError(
          'transaction_rolled_back',
          'a query before the commit failed, so nothing was saved',
        )
      return result
    } catch (error) {
      // The `end` and `error` events of a dead connection may come one tick after the query's error.
      await new Promise((resolve) => setImmediate(resolve))
      if (!broken) await client.query('ROLLBACK').catch(onError)
      const mapped = mapDatabaseError(error, step, broken)
      const isOfRole = client instanceof PostgresClient && client.isReadOnlyRole
      throw isOfRole && errorCode(mapped) === 'database_read_only' ? refuseReadOnlyRole(mapped) : mapped
    } finally {
      client.off('error', onError)
      const isUnfit = client instanceof PostgresClient && !client.takesWrites && !options.onlyReads
      client.release(broken || isUnfit)
    }
  }

  const query = async <Row extends pg.QueryResultRow>(statement: string | pg.QueryConfig) => {
    try {
      return (await pool.query<Row>(statement)).rows
    } catch (error) {
      throw mapDatabaseError(error, 'query')
    }
  }

  return {
    /** Runs `fn` in a read-only transaction that sees one snapshot. */
    read: <T>(fn: (tx: Tx) => Promise<T>) => within(BEGIN_READ, fn),
    /** Runs `fn` in a transaction and commits; rolls back if `fn` throws. */
    transaction: <T>(fn: (tx: Tx) => Promise<T>) => within('BEGIN', fn),
    /** Runs a statement that cannot run in a transaction, such as VACUUM. */
    async execute(statement: string): Promise<void> {
      await query(statement)
    },
    /** Runs one statement in its own transaction and returns its rows. */
    query,
    /** Reports whether the last server was read-only, which a store with `onlyReads` accepts. */
    isOnlyRead: () => isOnlyRead,
    /** Returns address and port of the server that last accepted a connection, as the server reports them; undefined for a socket. */
    server: () => server,
    /** Waits for the transactions in flight and closes every connection. */
    close: () => endPool(pool),
  }
}

/** Work that only one transaction at a time may do for an account, a service or a folder. */
type LockedWork =
  | 'activity list'
  | 'logins'
  | 'pass'
  | 'training info'
  | 'uploads'
  | 'workout folder'
  | 'workout list'
  | 'workout sets'

/**
 * Waits until no other transaction holds the lock of that work for `owner`, and holds it until this transaction ends. The lock is a row in
 * schema musette, because every login of the database, even a read-only one, can take an advisory lock.
 */
export async function acquireNamedLock(tx: Tx, work: LockedWork, owner: number | string): Promise<void> {
  const name = `${work} ${owner}`
  const found = await tx.db.select().from(locks).where(eq(locks.name, name)).for('update')
  if (found.length > 0) return
  // If two transactions insert the row at the same time, the second one waits here for the first.
  await tx.db.insert(locks).values({ name }).onConflictDoUpdate({ target: locks.name, set: { name } })
}

/**
 * Runs `action`, which may take long, unless another process does the same work. `work` names the view `musette.lock_<work>`. If another
 * process does the work now, returns undefined at once and runs nothing. The lock ends with its connection, so a killed process holds none.
 * `action` uses other connections; `held` aborts if the lock is lost with its connection.
 */
export async function withExclusiveWork<T>(
  store: Store,
  work: string,
  action: (held: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  // On a read-only store, actions do not conflict with each other, so no lock is needed.
  if (store.isOnlyRead()) return action(new AbortController().signal)
  let locked = false
  try {
    // A row lock would give this transaction an id, and vacuum would wait for its end.
    return await store.transaction(async (tx) => {
      await tx.client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      await tx.client.query(`LOCK TABLE musette.lock_${work} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`)
      locked = true
      const held = new AbortController()
      const lose = (error: Error) => held.abort(error)
      tx.client.once('error', lose)
      return await action(held.signal).finally(() => tx.client.off('error', lose))
    })
  } catch (error) {
    if (!locked && sqlstateOf(error) === '55P03') return undefined
    throw error
  }
}

const PASS_NAME = 'musette pass '

/** Finds the accounts that have a pass in any process. */
export async function findPasses(tx: Tx): Promise<number[]> {
  const { rows } = await tx.client.query<{ account_id: number }>(
    `SELECT DISTINCT substr(s.application_name, length($1) + 1)::int AS account_id
     FROM pg_locks l JOIN pg_stat_activity s USING (pid) JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
     WHERE l.relation = to_regclass('musette.lock_pass') AND s.application_name LIKE $1 || '%'`,
    [PASS_NAME],
  )
  return rows.map((row) => row.account_id)
}

/**
 * Runs `action` as the only pass of an account. Returns undefined and runs nothing if another process has a pass of this account. A pass is
 * identified by the name of a connection that holds a lock; other logins cannot take this lock, and it ends with its process.
 */
export async function withPass<T>(
  store: Store,
  accountId: number,
  action: () => Promise<T>,
): Promise<T | undefined> {
  let pass: Promise<T> | undefined
  await store.transaction(async (tx) => {
    await acquireNamedLock(tx, 'pass', accountId)
    if ((await findPasses(tx)).includes(accountId)) return
    await new Promise<void>((resolve, reject) => {
      pass = store.transaction(async ({ client }) => {
        // Locks no row, see withExclusiveWork. Keepalives detect a machine that is gone within two minutes.
        await client.query(`SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL application_name = '${PASS_NAME}${accountId}';
          SET LOCAL tcp_keepalives_idle = 60; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 6;
          LOCK TABLE musette.lock_pass IN ROW SHARE MODE`)
        resolve()
        return action()
      })
      pass.catch(reject)
    })
  })
  return pass
}
