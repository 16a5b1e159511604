import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Logger } from 'pino'
import { ConfigError, UnexpectedResponseError } from '../kit/errors.ts'
import { dropConnection, PostgresClient } from '../kit/postgres-client.ts'
import { MINUTE, SECOND } from '../kit/time.ts'
import { mapDatabaseError, sqlstateOf, unmigrated } from './database-errors.ts'
import { createMigrationLock, lockMigrations } from './migration-lock.ts'
import type { Tx } from './store.ts'
import { disableTriggers } from './triggers.ts'

const JOURNAL = 'musette.migrations'

// Long enough for a migration that rewrites a table of samples in another process.
const LOCK_TIMEOUT_MS = 10 * MINUTE

/** How soon the server ends a query whose client is gone; without it the next migration would wait for the end of that query. */
const CLIENT_CHECK_MS = 5 * SECOND
const DEADLOCK_DETECTED = '40P01'
/** More than one comes only while others lock the tables again and again. */
const MOST_ATTEMPTS = 5

/** Where a database is, and the signal that ends the work on it; the server takes back what was not finished. */
export type MigrationInput = {
  connectionString: string
  log: Logger
  signal?: AbortSignal
  /** the folder of the migrations, for tests */
  folder?: string
}

/**
 * Brings the database at `connectionString` to this version, all of it or nothing. Two at once are safe: the second waits for
 * the first and finds nothing to do. One that loses a deadlock with a query of others begins again. Throws ConfigError or
 * TransientError as the store does, ConfigError `database_newer` for a database that a newer version has made, and ConfigError
 * `database_unknown` for one with migrations that this version does not have.
 */
export async function migrate(input: MigrationInput): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { from, to } = await withMigrationLock(input, (client) => applyAll(client, input))
      if (from < to) input.log.info({ from, to }, 'migrated the database')
      return
    } catch (error) {
      if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt === MOST_ATTEMPTS) throw error
      input.log.warn({ attempt }, 'the migration met a deadlock with another query and begins again')
    }
  }
}

async function applyAll(client: pg.ClientBase, input: MigrationInput): Promise<{ from: number; to: number }> {
  const { version: from, target: to } = await findVersion(client, input.folder)
  await applyMigrations(client, input)
  return { from, to }
}

/**
 * Runs work in a transaction of its own connection while no other process can migrate the database, and commits. What the
 * work throws rolls everything back.
 */
export async function withMigrationLock<T>(
  input: MigrationInput,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
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
  const drop = () => dropConnection(client)
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
    // Some systems cannot check it and refuse the setting.
    await client.query(`SET client_connection_check_interval = ${CLIENT_CHECK_MS}`).catch(() => undefined)
    await createMigrationLock(client)
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    await lockMigrations(client)
    const result = await work(client)
    await client.query('COMMIT')
    return result
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
 * Runs the migrations that the database does not have, in their order: all, or those up to the version `upTo`. The rows that they
 * write are no changes of the mirror: the triggers of our tables are off meanwhile.
 */
export async function applyMigrations(
  client: pg.ClientBase,
  options: { folder?: string; upTo?: number } = {},
): Promise<void> {
  const { folder = migrationsFolder(), upTo = Number.POSITIVE_INFINITY } = options
  await client.query(`CREATE TABLE IF NOT EXISTS ${JOURNAL} (
    id serial PRIMARY KEY,
    hash text NOT NULL,
    created_at bigint
  )`)
  const { version } = await findVersion(client, folder)
  const { readMigrationFiles } = await import('drizzle-orm/migrator')
  const missing = readMigrationFiles({ migrationsFolder: folder }).filter(
    ({ folderMillis: moment }) => moment > version && moment <= upTo,
  )
  if (missing.length === 0) return
  const enableTriggers = await disableTriggers(client)
  for (const { folderMillis: moment, hash, sql } of missing) {
    for (const statement of sql) await client.query(statement)
    await client.query(`INSERT INTO ${JOURNAL} (hash, created_at) VALUES ($1, $2)`, [hash, moment])
  }
  await enableTriggers()
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
export async function findVersion(
  client: pg.ClientBase,
  folder?: string,
): Promise<{ version: number; target: number }> {
  const known = await readMigrations(folder)
  const applied = await findMigrations(client)
  const [version, target] = [Math.max(0, ...applied), Math.max(...known)]
  if (version > target) throw newerDatabase()
  if (applied.some((migration) => !known.includes(migration))) throw unknownDatabase()
  return { version, target }
}

/** Finds the migrations that the database has, each as the moment it was generated, ms since 1970. */
export async function findMigrations(client: pg.ClientBase): Promise<number[]> {
  const known = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    JOURNAL,
  ])
  if (!known.rows[0]?.found) return []
  const { rows } = await client.query<{ created_at: string | null }>(
    `SELECT created_at FROM ${JOURNAL} ORDER BY created_at`,
  )
  return rows.map((row) => Number(row.created_at))
}

/** Reads the migrations of this program, in the same form. */
export async function readMigrations(folder: string = migrationsFolder()): Promise<number[]> {
  const text = await readFile(`${folder}/meta/_journal.json`, 'utf8')
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
