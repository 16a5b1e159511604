import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type GuardedReader, makeGuardedReader } from '../store/query/guarded-reader.ts'
import {
  collectResults,
  openQueries as openRawQueries,
  type Queries,
  type QueryResult,
} from '../store/query/raw-query.ts'

type Database = { url: string; close(): Promise<void> }

/**
 * Opens the database: returns the URL of the user's own database without a check, or starts the embedded one and migrates it
 * to this version. `close` releases the embedded one. Throws the errors of the start and of the migration.
 */
export async function openDatabase(config: Config, log: Logger, signal?: AbortSignal): Promise<Database> {
  const database = await openUnmigrated(config, log, signal)
  if (config.databaseUrl) return database
  try {
    const { migrate } = await import('../store/migrate.ts')
    await migrate({ connectionString: database.url, log, ...(signal && { signal }) })
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens the database as openDatabase does, and leaves it at the version that it has. */
export async function openUnmigrated(config: Config, log: Logger, signal?: AbortSignal): Promise<Database> {
  if (config.databaseUrl) return { url: config.databaseUrl, close: async () => undefined }
  const { openEmbeddedPostgres } = await import('../embedded/embedded.ts')
  const embedded = await openEmbeddedPostgres({ log, ...(signal && { signal }) }, { dataDir: config.dataDir })
  return { url: embedded.url, close: () => embedded.close() }
}

/** Migrates the database to this version. Throws ConfigError when it cannot be migrated. */
export async function migrateDatabase(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const database = await openDatabase(config, log, signal)
  try {
    if (!config.databaseUrl) return
    const { migrate } = await import('../store/migrate.ts')
    await migrate({ connectionString: database.url, log, signal })
  } finally {
    await database.close()
  }
}

/** Opens a connection for SQL that a person typed; starts the embedded Postgres if it does not run. `write` allows changes. */
export async function openQueries(
  config: Config,
  log: Logger,
  options: { write: boolean; signal?: AbortSignal },
): Promise<Queries> {
  const database = await openDatabase(config, log, options.signal)
  try {
    const queries = await openRawQueries({ ...options, connectionString: database.url })
    return {
      run: (text, signal) => queries.run(text, signal),
      async close() {
        try {
          await queries.close()
        } finally {
          await database.close()
        }
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * Makes a reader for statements of assistants. The database is opened at the first of them, and again after a failure; `close`
 * releases it. `account` is the only account that can be read; undefined: all of them.
 */
export function makeAssistantReader(
  config: Config,
  log: Logger,
  options: { account: string | undefined; signal: AbortSignal },
): GuardedReader & { close(): Promise<void> } {
  let database: Promise<Database> | undefined
  const find = async () => {
    const opening = database ?? openDatabase(config, log, options.signal)
    database = opening
    opening.catch(() => {
      if (database === opening) database = undefined
    })
    const { url } = await opening
    return { ...loginOptions(config), connectionString: url, account: options.account }
  }
  const { read } = makeGuardedReader({ log, find })
  return {
    read,
    async close() {
      await (await database?.catch(() => undefined))?.close()
    },
  }
}

/** Returns how assistants sign in to the database of a configuration. */
export function loginOptions({ readerUrl, databaseUrl }: Pick<Config, 'readerUrl' | 'databaseUrl'>) {
  return { readerUrl, wholeServer: databaseUrl === undefined }
}

/** Runs read-only SQL on a new connection to the App's database and returns the results. Throws ConfigError `sql_rejected`. */
export async function queryApp(app: { databaseUrl: string }, text: string): Promise<QueryResult[]> {
  const queries = await openRawQueries({ connectionString: app.databaseUrl, write: false })
  try {
    return await collectResults(queries, text)
  } finally {
    await queries.close()
  }
}
