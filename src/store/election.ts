import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type pg from 'pg'
import { SECOND } from '../kit/durations.ts'
import { PostgresClient } from '../kit/postgres-client.ts'
import { mapDatabaseError } from './errors.ts'
import { isPostHeld, makePost, type PostName, tryLockPost } from './post-lock.ts'

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
export type Ballot = {
  /**
   * Asks for a post that one process at a time holds, or confirms that it is held still; false while another holds it. A
   * post asked for before under another name is given back. Throws what the store throws when the database does not
   * answer; whether the post is still this process's own is then for the next answer to tell.
   */
  ask(post: string): Promise<boolean>
  /** Gives the post back. Never throws. */
  close(): Promise<void>
}

export type BallotOptions = {
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
