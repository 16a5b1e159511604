import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import { eq } from 'drizzle-orm'
import pg from 'pg'
import { PostgresClient } from '../kit/postgres-client.ts'
import { SECOND } from '../kit/time.ts'
import { mapDatabaseError } from './errors.ts'
import { locks } from './schema/index.ts'
import type { Tx } from './store.ts'

/** How long one answer of the server may take before the connection counts as lost, ms. */
const ANSWER_MS = 5 * SECOND
/**
 * A leader that says nothing for this long, ms, has its session ended by the server, and the post is free: its line was
 * cut without a word, or its machine sleeps. A leader that dies is noticed at once, because its connection ends with it.
 */
const SILENT_MS = 15 * SECOND

// So that an open transaction that rests keeps no snapshot, which would stop vacuum for as long as this process leads. It
// writes nothing, but Postgres allows no such lock to a transaction that only reads.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

/** One process's vote for itself, on a connection of its own. */
type Ballot = {
  /**
   * Asks for a post that one process at a time holds, or confirms that it is held still; false while another holds it. A
   * post asked for before under another name is given back. Throws what the store throws when the database does not
   * answer; whether the post is still this process's own is then for the next answer to tell.
   */
  ask(post: string): Promise<boolean>
  /** Gives the post back. Never throws. */
  close(): Promise<void>
}

type BallotOptions = {
  connectionString: string
  applicationName: string
  /** instead of the constant above, where a test cannot wait that long */
  silentMs?: number
}

type Line = { client: pg.Client; socket: Socket; post: string | undefined }

/**
 * Makes a ballot. A post is a lock of a transaction that stays open, not of the session: poolers that hand a connection
 * on after each transaction (pgbouncer) keep it, too. It connects at the first `ask`.
 */
export function makeBallot(options: BallotOptions): Ballot {
  let line: Line | undefined
  const drop = (lost: Line) => {
    lost.socket.destroy()
    if (line === lost) line = undefined
  }
  return {
    async ask(post) {
      const open = line ?? makeLine(options)
      try {
        if (!line) {
          open.client.on('error', () => drop(open))
          await open.client.connect()
          line = open
        }
        return await askOn(open, post, options.silentMs ?? SILENT_MS)
      } catch (error) {
        const step = line === open ? 'query' : 'connect'
        drop(open)
        throw mapDatabaseError(error, step, true)
      }
    },
    async close() {
      const open = line
      line = undefined
      if (!open) return
      const late = setTimeout(() => open.socket.destroy(), ANSWER_MS)
      await open.client.end().catch(() => undefined)
      clearTimeout(late)
    },
  }
}

async function askOn(open: Line, post: string, silentMs: number): Promise<boolean> {
  const { client } = open
  if (open.post === post) {
    await client.query('SELECT 1')
    return true
  }
  if (open.post !== undefined) await client.query('ROLLBACK')
  open.post = undefined
  const name = nameOf(post)
  await makePost(client, name)
  if (await isPostHeld(client, name)) return false
  await client.query(`${BEGIN}; SET LOCAL idle_in_transaction_session_timeout = ${silentMs}`)
  if (await tryLockPost(client, name)) open.post = post
  else await client.query('ROLLBACK')
  return open.post === post
}

/** The socket is made here, because a driver that waits for a dead server cannot be told to let go of its own. */
function makeLine({ connectionString, applicationName }: BallotOptions): Line {
  const socket = new Socket()
  const client = new PostgresClient({
    connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    stream: () => socket,
  })
  return { client, socket, post: undefined }
}

/** A hash, because a folder's name may be longer than that of a view. */
function nameOf(post: string): PostName {
  const hash = createHash('sha256').update(post).digest('hex').slice(0, 32)
  return { view: `post_${hash}`, comment: `Locked by the process that holds the post "${post}"` }
}

/**
 * What `lockPost` locks is a view, one for each post. Schema musette keeps other logins from it, which an advisory lock
 * would not. The lock of a row would give the transaction a number, and vacuum would wait for as long as it is open. A
 * `VACUUM` of the whole database would wait for the lock of a table, but passes views by; so does pg_dump.
 */
type PostName = { view: string; comment: string }

/** duplicate_schema, duplicate_table, duplicate_object and unique_violation of a catalog: another process made it at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(['42P06', '42P07', '42710', '23505'])
const LOCK_NOT_AVAILABLE = '55P03'

/** Makes what is to be locked, on an empty database too; not in a transaction. Throws pg's errors. */
export async function makePost(client: pg.ClientBase, { view, comment }: PostName): Promise<void> {
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

/** Takes the lock to the end of the transaction, which must be allowed to write; waits for it as `lock_timeout` says. */
export async function lockPost(client: pg.ClientBase, { view }: PostName): Promise<void> {
  await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE`)
}

/** The same without waiting: false, and the transaction has failed, when another holds the lock. */
async function tryLockPost(client: pg.ClientBase, { view }: PostName): Promise<boolean> {
  try {
    await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`)
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

/** Whether anybody holds the lock; asked first, because each refusal of a lock is an error in the log of the server. */
async function isPostHeld(client: pg.ClientBase, { view }: PostName): Promise<boolean> {
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

/**
 * Waits until no other transaction holds the lock `name`, and holds it to the end of this one. The lock is a row of schema
 * musette: an advisory lock could be taken by every login of the database, also by one that only reads.
 */
export async function lockName(tx: Tx, name: string): Promise<void> {
  const found = await tx.db.select().from(locks).where(eq(locks.name, name)).for('update')
  if (found.length > 0) return
  // Of two that make the row at once, the second waits here for the first.
  await tx.db.insert(locks).values({ name }).onConflictDoUpdate({ target: locks.name, set: { name } })
}
