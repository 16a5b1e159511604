import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Logger } from 'pino'
import { ConfigError, UnexpectedResponseError } from '../kit/errors.ts'
import { PostgresClient } from '../kit/postgres-client.ts'
import { MINUTE, SECOND } from '../kit/time.ts'
import { mapDatabaseError, unmigrated } from './database-errors.ts'
import { createMigrationLock, lockMigrations } from './migration-lock.ts'
import type { Tx } from './store.ts'

const JOURNAL = { migrationsSchema: 'musette', migrationsTable: 'migrations' } as const

// Long enough for a migration that rewrites a table of samples in another process.
const LOCK_TIMEOUT_MS = 10 * MINUTE

/**
 * Brings the database at `connectionString` to this version. Two at once are safe: the second waits for the first and
 * finds nothing to do. Throws ConfigError or TransientError as the store does, ConfigError `database_newer` for a
 * database that a newer version has made, and ConfigError `database_unknown` for one with migrations that this version does
 * not have. The `signal` ends it, and the server takes back what was not finished.
 */
export async function migrate(input: {
  connectionString: string
  log: Logger
  signal?: AbortSignal
}): Promise<void> {
  const { drizzle } = await import('drizzle-orm/node-postgres')
  const { migrate: runMigrations } = await import('drizzle-orm/node-postgres/migrator')
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
    await createMigrationLock(client)
    // The migrator's own BEGIN is a warning in this transaction, and its COMMIT ends it.
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    await lockMigrations(client)
    const { version: before, target } = await findVersion(client)
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

/**
 * Throws ConfigError unless the database is at this version: `database_unmigrated` for an older one, `database_unknown` and
 * `database_newer` as `migrate` does.
 */
export async function checkSchema(tx: Tx): Promise<void> {
  const { version, target } = await findVersion(tx.client)
  if (version < target) throw unmigrated()
}

// Both src/store and dist/store lie two folders below the folder that holds drizzle/.
function migrationsFolder(): string {
  return fileURLToPath(new URL('../../drizzle', import.meta.url))
}

/**
 * Finds the version of the database and that of this program. A version is the moment its last migration was generated,
 * ms since 1970; 0 is an empty database. Throws ConfigError unless this program has every migration of the database.
 */
async function findVersion(client: pg.ClientBase): Promise<{ version: number; target: number }> {
  const known = await readMigrations()
  const applied = await findMigrations(client)
  const [version, target] = [Math.max(0, ...applied), Math.max(...known)]
  if (version > target) throw newerDatabase()
  if (applied.some((migration) => !known.includes(migration))) throw unknownDatabase()
  return { version, target }
}

/** Finds the migrations that the database has, each as the moment it was generated, ms since 1970. */
async function findMigrations(client: pg.ClientBase): Promise<number[]> {
  const table = `${JOURNAL.migrationsSchema}.${JOURNAL.migrationsTable}`
  const known = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  if (!known.rows[0]?.found) return []
  const { rows } = await client.query<{ created_at: string | null }>(`SELECT created_at FROM ${table}`)
  return rows.map((row) => Number(row.created_at))
}

/** Reads the migrations of this program, in the same form. */
async function readMigrations(): Promise<number[]> {
  const text = await readFile(`${migrationsFolder()}/meta/_journal.json`, 'utf8')
  const journal: unknown = JSON.parse(text)
  const entries = isJournal(journal) ? journal.entries : []
  if (entries.length === 0)
    throw new UnexpectedResponseError(
      'migrations_missing',
      'store, read drizzle/meta/_journal.json: no entries',
    )
  return entries.map(({ when }) => when)
}

function isJournal(value: unknown): value is { entries: Array<{ when: number }> } {
  return typeof value === 'object' && value !== null && 'entries' in value && Array.isArray(value.entries)
}

function newerDatabase(): ConfigError {
  const message = 'store, read the schema: this database was made by a newer musette; install that version'
  return new ConfigError('database_newer', message)
}

function unknownDatabase(): ConfigError {
  const message =
    'store, read the schema: an earlier musette made this database, and this version cannot migrate it; take files that ' +
    'were sent already out of the drop folder, since a new ledger does not know them, use an empty database (another ' +
    'DATABASE_URL, or move the folder postgres out of the data directory), ' +
    'then run: musette migrate && musette login && musette sync'
  return new ConfigError('database_unknown', message)
}
