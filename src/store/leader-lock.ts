import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import pg from 'pg'
import { PostgresClient } from '../kit/postgres-client.ts'
import { SECOND } from '../kit/time.ts'
import { mapDatabaseError } from './database-errors.ts'

/** How long one answer of the server may take before the connection counts as lost, ms. */
const ANSWER_MS = 5 * SECOND
/**
 * The server ends the session of a leader that is silent for this long, ms, and the role is free: the network was cut, or the
 * leader's machine sleeps. When a leader dies, its connection ends with it and the role is free at once.
 */
const SILENT_MS = 15 * SECOND

// Read committed, because an idle transaction of this level keeps no snapshot; a snapshot would stop vacuum for as long as
// this process leads. Read write, because Postgres refuses this lock to a read-only transaction.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

/** A role that one process at a time holds, on a connection of its own. */
type LeaderLock = {
  /**
   * Acquires the role, or confirms that this process still holds it; false while another process holds it. A role acquired
   * before under another name is released. Throws the store's errors when the database does not answer; the next call then
   * tells whether this process still holds the role.
   */
  acquire(role: string): Promise<boolean>
  /** Releases the role. Never throws. */
  close(): Promise<void>
}

type LeaderLockOptions = {
  connectionString: string
  applicationName: string
  /** replaces SILENT_MS in tests */
  silentMs?: number
}

type Connection = { client: pg.Client; socket: Socket; role: string | undefined }

/**
 * Makes a leader lock; it connects at the first `acquire`. The lock belongs to a transaction that stays open and not to the
 * session, so that it also works behind a pooler that reuses connections after each transaction (pgbouncer).
 */
export function makeLeaderLock(options: LeaderLockOptions): LeaderLock {
  let connection: Connection | undefined
  const drop = (lost: Connection) => {
    lost.socket.destroy()
    if (connection === lost) connection = undefined
  }
  return {
    async acquire(role) {
      const open = connection ?? makeConnection(options)
      try {
        if (!connection) {
          open.client.on('error', () => drop(open))
          await open.client.connect()
          connection = open
        }
        return await acquireOn(open, role, options.silentMs ?? SILENT_MS)
      } catch (error) {
        const step = connection === open ? 'query' : 'connect'
        drop(open)
        throw mapDatabaseError(error, step, true)
      }
    },
    async close() {
      const open = connection
      connection = undefined
      if (!open) return
      const late = setTimeout(() => open.socket.destroy(), ANSWER_MS)
      await open.client.end().catch(() => undefined)
      clearTimeout(late)
    },
  }
}

async function acquireOn(open: Connection, role: string, silentMs: number): Promise<boolean> {
  const { client } = open
  if (open.role === role) {
    await client.query('SELECT 1')
    return true
  }
  if (open.role !== undefined) await client.query('ROLLBACK')
  open.role = undefined
  const name = lockViewOf(role)
  await createLockView(client, name)
  if (await isViewLocked(client, name)) return false
  await client.query(`${BEGIN}; SET LOCAL idle_in_transaction_session_timeout = ${silentMs}`)
  if (await tryLockView(client, name)) open.role = role
  else await client.query('ROLLBACK')
  return open.role === role
}

/** Makes the socket here, because the driver offers no way to close its own while it waits for a dead server. */
function makeConnection({ connectionString, applicationName }: LeaderLockOptions): Connection {
  const socket = new Socket()
  const client = new PostgresClient({
    connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    stream: () => socket,
  })
  return { client, socket, role: undefined }
}

/** Names the view by a hash, because a folder's path may be longer than the name of a view. */
function lockViewOf(role: string): LockView {
  const hash = createHash('sha256').update(role).digest('hex').slice(0, 32)
  return { view: `lock_${hash}`, comment: `Locked by the process that holds the role "${role}"` }
}

/**
 * The view that a role locks. Other logins have no access to schema musette, but every login could take an advisory lock. A
 * row lock would assign the transaction an id, and vacuum would wait for as long as the transaction is open. `VACUUM` of the
 * whole database and pg_dump would wait for the lock of a table, but not for that of a view.
 */
type LockView = { view: string; comment: string }

/** duplicate_schema, duplicate_table, duplicate_object and unique_violation of a catalog: another process created it at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(['42P06', '42P07', '42710', '23505'])
const LOCK_NOT_AVAILABLE = '55P03'

/** Creates the view, also in an empty database. Must not run in a transaction. Throws pg's errors. */
export async function createLockView(client: pg.ClientBase, { view, comment }: LockView): Promise<void> {
  const found = await client.query<{ schema: boolean; view: boolean }>(
    `SELECT to_regnamespace('musette') IS NOT NULL AS schema, to_regclass('musette.${view}') IS NOT NULL AS view`,
  )
  if (!found.rows[0]?.schema) await unlessMadeMeanwhile(client.query('CREATE SCHEMA IF NOT EXISTS musette'))
  if (found.rows[0]?.view) return
  await unlessMadeMeanwhile(
    client.query(
      `CREATE VIEW musette.${view} AS SELECT true AS lockable;
       COMMENT ON VIEW musette.${view} IS ${pg.escapeLiteral(comment)};
       COMMENT ON COLUMN musette.${view}.lockable IS 'Always true: the lock is what matters'`,
    ),
  )
}

/** Locks the view until the transaction ends, which must be read write; waits as long as `lock_timeout` says. */
export async function lockView(client: pg.ClientBase, { view }: LockView): Promise<void> {
  await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE`)
}

/** Locks the view without waiting. Returns false when another process holds the lock; the transaction has then failed. */
async function tryLockView(client: pg.ClientBase, { view }: LockView): Promise<boolean> {
  try {
    await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`)
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

/** Tells whether a process holds the lock. Checked first, because the server logs every refused lock as an error. */
async function isViewLocked(client: pg.ClientBase, { view }: LockView): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM pg_locks WHERE relation = to_regclass('musette.${view}') AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND mode = 'ShareUpdateExclusiveLock'`,
  )
  return rows.length > 0
}

async function unlessMadeMeanwhile(made: Promise<unknown>): Promise<void> {
  try {
    await made
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && MADE_MEANWHILE.has(error.code ?? ''))) throw error
  }
}
