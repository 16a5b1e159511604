import { isPgPool, type PgPool, quoteSchemaName, runMigrations } from 'bullmq'
import pg from 'pg'
import { MusetteError } from '../../kit/errors.ts'
import { endPool, PostgresClient } from '../../kit/postgres-client.ts'
import { sleep } from '../../kit/sleep.ts'
import { CONNECTION_IDLE_MS, CONNECTION_MS } from '../limits.ts'

export const SCHEMA = 'bullmq'
/** Two workers hold one connection each to listen; six and a little are left for everything else. */
export const QUEUE_CONNECTIONS = 10
/** Pause before a failed connection is reported, ms: BullMQ asks again at once, thousands of times a second. */
const PAUSE_MS = 250

/** SQLSTATEs that say the server, not the statement, is the trouble: stopping, crashed, starting, full. */
const SERVER_STATES: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '53300'])

/**
 * Brings BullMQ's own tables to its version in schema `bullmq`. BullMQ's runner takes an advisory lock, so several
 * daemons may start at once. Throws pg's errors.
 */
export async function migrateQueueTables(url: string): Promise<void> {
  const client = new PostgresClient({
    connectionString: url,
    application_name: 'musette queue',
    connectionTimeoutMillis: CONNECTION_MS,
  })
  client.on('error', () => undefined) // the query that suffers says so
  await client.connect()
  try {
    await runMigrations(client, SCHEMA)
  } finally {
    await client.end()
  }
}

/**
 * Makes the pool that BullMQ works on. Every failure of a connection is slowed down and called ECONNREFUSED, the
 * only one that BullMQ's workers wait out; the true error stays in `cause`. Connects to nothing by itself.
 */
export function makeQueuePool(url: string): PgPool {
  const pool = new pg.Pool({
    Client: PostgresClient,
    connectionString: url,
    max: QUEUE_CONNECTIONS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECTION_MS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
    application_name: 'musette queue',
    onConnect: async (client) => {
      // By statement, not by a start-up option: poolers refuse those, and the URL may bring options of its own.
      await client.query(`SET search_path TO ${quoteSchemaName(SCHEMA)}`)
    },
  })
  const slow: unknown = {
    options: { keepAlive: true },
    query: (text: string, params?: readonly unknown[]) => slowed(() => pool.query(text, [...(params ?? [])])),
    connect: () => slowed(() => pool.connect()),
    end: () => endPool(pool),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
  }
  if (!isPgPool(slow)) throw new MusetteError('queue_pool', 'jobs: open the queue: BullMQ refuses the pool')
  return slow
}

async function slowed<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (isStatementError(error)) throw error
    await sleep(PAUSE_MS)
    throw Object.assign(new Error('jobs: reach the queue in Postgres: connection failed', { cause: error }), {
      code: 'ECONNREFUSED',
    })
  }
}

function isStatementError(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  const state = error.code ?? ''
  return !SERVER_STATES.has(state) && !state.startsWith('08')
}
