import pg from 'pg'
import type { Logger } from 'pino'
import { dropConnection, PostgresClient } from '../../kit/postgres-client.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'
import { type DatabaseStep, mapDatabaseError, outdated, sqlstateOf } from './database-errors.ts'
import { checkServer } from './migration/check-server.ts'
import { findUnprotected, protectNew } from './migration/one-account.ts'
import {
  assertNoForeignTables,
  CREATE_JOURNAL,
  findVersion,
  JOURNAL,
  migrationsFolder,
  readJournal,
} from './migration/schema-version.ts'

// Another process may hold the lock this long while its migration rewrites a table of samples.
const LOCK_TIMEOUT_MS = 10 * MINUTE

/** How soon the server ends the query of a client that is gone, ms. Otherwise the next migration would wait for that query. */
const CLIENT_CHECK_MS = 5 * SECOND
const DEADLOCK_DETECTED = '40P01'
/** Maximum attempts. More than one deadlock comes only if others lock the tables again and again. */
const MAX_ATTEMPTS = 5

/** The database to migrate, and the signal that stops the work; the server rolls back unfinished work. */
type MigrationInput = {
  connectionString: string
  log: Logger
  signal?: AbortSignal
  /** folder of the migrations, for tests */
  folder?: string
}

/** Names of the last migration before and after, and how many ran; `from` is undefined if the database was empty. */
export type Migrated = Readonly<{ from: string | undefined; to: string; applied: number }>

/**
 * Migrates the database at `connectionString` to this version, completely or not at all. Two processes may call it at once: the second
 * waits for the first and finds nothing to do. Calls `before` first if tables of an older version will change. Starts again after a
 * deadlock with another query. With `onlyEmpty`, creates the tables in an empty database, and throws ConfigError `database_unmigrated` for
 * an older version. Throws ConfigError or TransientError as the store does, ConfigError `database_newer` for a newer version, and
 * ConfigError `database_unknown` for migrations that this version lacks, or for tables of other programs in our schemas.
 */
export async function migrate(
  input: MigrationInput & { onlyEmpty?: boolean; before?: () => Promise<unknown> },
): Promise<Migrated> {
  for (let attempt = 1; ; attempt++) {
    try {
      const migrated = await withMigrationLock(input, (client) => applyAll(client, input))
      if (migrated.applied > 0)
        input.log.info(migrated, migrated.from ? 'migrated the database' : 'set up the empty database')
      return migrated
    } catch (error) {
      if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt === MAX_ATTEMPTS) throw error
      input.log.warn({ attempt }, 'the migration met a deadlock with another query and starts again')
    }
  }
}

async function applyAll(client: pg.ClientBase, input: Parameters<typeof migrate>[0]): Promise<Migrated> {
  const { version, target } = await findVersion(client, input.folder)
  if (version === 0) await assertNoForeignTables(client, { anywhere: input.onlyEmpty ?? false })
  else if (input.onlyEmpty && version < target) throw outdated()
  else if (version < target) {
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
    await input.before?.()
  }
  await applyMigrations(client, input)
  const journal = await readJournal(input.folder)
  const tagOf = (moment: number) => journal.find(({ when }) => when === moment)?.tag
  const applied = journal.filter(({ when }) => when > version).length
  return { from: tagOf(version), to: tagOf(target) ?? '', applied }
}

/** Runs work in a transaction on a separate connection, while no other process can migrate the database. */
export async function withMigrationLock<T>(
  input: MigrationInput,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const { connectionString } = input
  const client = new PostgresClient({ connectionString, application_name: 'musette migrate' })
  let broken = false
  client.on('error', () => {
    broken = true
  })
  const { signal } = input
  const drop = () => dropConnection(client)
  let step: DatabaseStep = 'connect'
  try {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', drop, { once: true })
    await client.connect()
    step = 'query'
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
    // Some systems cannot check the connection and refuse the setting.
    await client.query(`SET client_connection_check_interval = ${CLIENT_CHECK_MS}`).catch(() => undefined)
    await checkServer(client, connectionString)
    await createMigrationLock(client)
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    // Held until the transaction ends, which must be allowed to write. `lock_timeout` limits the wait.
    await client.query(`LOCK TABLE ${VIEW} IN SHARE UPDATE EXCLUSIVE MODE`)
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    signal?.throwIfAborted()
    throw mapDatabaseError(error, step, broken)
  } finally {
    signal?.removeEventListener('abort', drop)
    // Ending the session releases the lock and rolls back.
    await client.end().catch(() => undefined)
  }
}

/**
 * Runs the migrations that the database lacks, in order: all migrations, or the migrations up to the version `upTo`. Protects the tables and
 * views that they create or replace, so that a held login sees only its accounts there. Disables the triggers of our tables meanwhile, because
 * their rows are not changes of the mirror.
 */
export async function applyMigrations(
  client: pg.ClientBase,
  options: { folder?: string | undefined; upTo?: number } = {},
): Promise<void> {
  const { folder = migrationsFolder(), upTo = Number.POSITIVE_INFINITY } = options
  const { version } = await findVersion(client, folder)
  const { readMigrationFiles } = await import('drizzle-orm/migrator')
  const missing = readMigrationFiles({ migrationsFolder: folder }).filter(
    ({ folderMillis: moment }) => moment > version && moment <= upTo,
  )
  if (missing.length === 0) return
  await client.query(CREATE_JOURNAL)
  const enableTriggers = await disableTriggers(client)
  for (const { folderMillis: moment, hash, sql } of missing) {
    const ofUsers = await findUnprotected(client)
    for (const statement of sql) await client.query(statement)
    if (ofUsers) await protectNew(client, ofUsers)
    const applied = [hash, moment, VERSION]
    await client.query(`INSERT INTO ${JOURNAL} (hash, created_at, musette) VALUES ($1, $2, $3)`, applied)
  }
  await enableTriggers()
}

/**
 * Migrations lock a view, because the table of named locks does not exist before the first migration. A `VACUUM` of the whole database
 * would wait for a locked table, but neither it nor pg_dump touches views.
 */
const VIEW = 'musette.lock_migration'

/** duplicate_schema, duplicate_table, duplicate_object, and unique_violation in a catalog: another process created it at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(['42P06', '42P07', '42710', '23505'])

/** Creates the view that migrations lock, even in an empty database. Must not run in a transaction. Throws pg's errors. */
async function createMigrationLock(client: pg.ClientBase): Promise<void> {
  const found = await client.query<{ schema: boolean; view: boolean }>(
    `SELECT to_regnamespace('musette') IS NOT NULL AS schema, to_regclass('${VIEW}') IS NOT NULL AS view`,
  )
  if (!found.rows[0]?.schema) await unlessMadeMeanwhile(client.query('CREATE SCHEMA IF NOT EXISTS musette'))
  if (found.rows[0]?.view) return
  await unlessMadeMeanwhile(
    client.query(
      `CREATE VIEW ${VIEW} AS SELECT true AS lockable;
       COMMENT ON VIEW ${VIEW} IS 'Locked by the process that migrates this database';
       COMMENT ON COLUMN ${VIEW}.lockable IS 'Always true: the lock is what matters'`,
    ),
  )
}

async function unlessMadeMeanwhile(made: Promise<unknown>): Promise<void> {
  try {
    await made
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && MADE_MEANWHILE.has(error.code ?? ''))) throw error
  }
}

/**
 * Disables the triggers of our tables in this transaction, for a restore or a migration: its rows are not changes of the mirror, and a
 * table with pending deferred triggers cannot be altered. Returns a function that enables those that still exist.
 */
export async function disableTriggers(client: pg.ClientBase): Promise<() => Promise<void>> {
  // Leaves out Postgres's own triggers for constraints.
  const setAll = async (state: 'DISABLE' | 'ENABLE', before?: number[]) => {
    const { rows } = await client.query<{ oid: number; text: string }>(
      `SELECT t.oid, format('ALTER TABLE %s %s TRIGGER %I', t.tgrelid::regclass, $1::text, t.tgname) AS text
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname IN ('training', 'musette') AND NOT t.tgisinternal AND t.tgenabled = $2
         AND ($3::oid[] IS NULL OR t.oid = ANY ($3)) ORDER BY n.nspname, c.relname, t.tgname`,
      [state, state === 'DISABLE' ? 'O' : 'D', before],
    )
    await client.query(rows.map(({ text }) => text).join('; '))
    return rows.map(({ oid }) => oid)
  }
  const before = await setAll('DISABLE')
  return async () => void (await setAll('ENABLE', before))
}
