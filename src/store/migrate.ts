import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator'
import type pg from 'pg'
import type { Logger } from 'pino'
import { ConfigError, UnexpectedResponseError } from '../kit/errors.ts'
import { PostgresClient } from '../kit/postgres-client.ts'
import { MINUTE, SECOND } from '../kit/time.ts'
import { mapDatabaseError, unmigrated } from './errors.ts'
import { lockPost, makePost } from './leader-lock.ts'
import type { Tx } from './store.ts'

const JOURNAL = { migrationsSchema: 'musette', migrationsTable: 'migrations' } as const

const MIGRATION = { view: 'post_migration', comment: 'Locked by the process that migrates this database' }
// Long enough for a migration that rewrites a table of samples in another process.
const LOCK_TIMEOUT_MS = 10 * MINUTE

/**
 * Brings the database at `connectionString` to this version. Two at once are safe: the second waits for the first and
 * finds nothing to do. Throws ConfigError or TransientError as the store does, and ConfigError `database_newer` for a
 * database that a newer version has made. The `signal` ends it, and the server takes back what was not finished.
 */
export async function migrate(input: {
  connectionString: string
  log: Logger
  signal?: AbortSignal
}): Promise<void> {
  const client = new PostgresClient({
    connectionString: input.connectionString,
    application_name: 'musette migrate',
    connectionTimeoutMillis: 15 * SECOND,
  })
  let broken = false
  client.on('error', () => {
    broken = true
  })
  const { signal } = input
  // The driver cannot be told to let go of a statement that waits for somebody's lock.
  const drop = () => client.connection.stream.destroy()
  try {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', drop, { once: true })
    await client.connect()
  } catch (error) {
    signal?.throwIfAborted()
    throw mapDatabaseError(error, 'connect')
  }
  try {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await makePost(client, MIGRATION)
    // The migrator's own BEGIN is a warning in this transaction, and its COMMIT ends it.
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    await lockPost(client, MIGRATION)
    const before = await findVersion(client)
    const target = await readTargetVersion()
    if (before > target) throw newerDatabase()
    await runMigrations(drizzle(client), { migrationsFolder: migrationsFolder(), ...JOURNAL })
    await client.query('COMMIT')
    if (before < target) input.log.info({ from: before, to: target }, 'migrated the database')
  } catch (error) {
    signal?.throwIfAborted()
    throw mapDatabaseError(error, 'query', broken)
  } finally {
    signal?.removeEventListener('abort', drop)
    // The end of the session gives the lock back, and what is not committed.
    await client.end().catch(() => undefined)
  }
}

/** Throws ConfigError `database_unmigrated` or `database_newer` unless the database is at this version. */
export async function checkSchema(tx: Tx): Promise<void> {
  const found = await findVersion(tx.client)
  const target = await readTargetVersion()
  if (found < target) throw unmigrated()
  if (found > target) throw newerDatabase()
}

// Both src/store and dist/store lie two folders below the folder that holds drizzle/.
function migrationsFolder(): string {
  return fileURLToPath(new URL('../../drizzle', import.meta.url))
}

// A version is the moment its last migration was generated, in ms since 1970; 0 is an empty database.
async function findVersion(client: pg.ClientBase): Promise<number> {
  const table = `${JOURNAL.migrationsSchema}.${JOURNAL.migrationsTable}`
  const known = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  if (!known.rows[0]?.found) return 0
  const last = await client.query<{ version: string | null }>(
    `SELECT max(created_at) AS version FROM ${table}`,
  )
  return Number(last.rows[0]?.version ?? 0)
}

async function readTargetVersion(): Promise<number> {
  const text = await readFile(`${migrationsFolder()}/meta/_journal.json`, 'utf8')
  const journal: unknown = JSON.parse(text)
  const entries = isJournal(journal) ? journal.entries : []
  const last = entries.at(-1)
  if (!last)
    throw new UnexpectedResponseError(
      'migrations_missing',
      'store, read drizzle/meta/_journal.json: no entries',
    )
  return last.when
}

function isJournal(value: unknown): value is { entries: Array<{ when: number }> } {
  return typeof value === 'object' && value !== null && 'entries' in value && Array.isArray(value.entries)
}

function newerDatabase(): ConfigError {
  const message = 'store, read the schema: this database was made by a newer musette; install that version'
  return new ConfigError('database_newer', message)
}
