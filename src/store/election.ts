import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type pg from 'pg'
import { SECOND } from '../kit/durations.ts'
import { PostgresClient } from '../kit/postgres-client.ts'
import { mapDatabaseError } from './errors.ts'

/** How long one answer of the server may take before the connection counts as lost, ms. */
const ANSWER_MS = 5 * SECOND
/**
 * A leader that says nothing for this long, ms, has its session ended by the server, and the post is free: its line was
 * cut without a word, or its machine sleeps. A leader that dies is noticed at once, because its connection ends with it.
 */
const SILENT_MS = 15 * SECOND

// So that an open transaction that rests keeps no snapshot, which would stop vacuum for as long as this process leads.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'

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
 * Makes a ballot. A post is an advisory lock of a transaction that stays open, not of the session: poolers that hand a
 * connection on after each transaction (pgbouncer) keep it, too. It connects at the first `ask`.
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
  await client.query(`${BEGIN}; SET LOCAL idle_in_transaction_session_timeout = ${silentMs}`)
  // As text without parameters: with them the server keeps the statement's snapshot until the next one.
  const lock = await client.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${lockOf(post)}) AS mine`,
  )
  if (lock.rows[0]?.mine) open.post = post
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

/** The number of a post's lock: 64 bits of a hash, for which others' locks in the same database do not stand in the way. */
function lockOf(post: string): bigint {
  return createHash('sha256').update(`musette post ${post}`).digest().readBigInt64BE()
}
