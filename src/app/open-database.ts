import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { type GuardedReader, makeGuardedReader } from '../query/guarded-reader.ts'
import {
  collectResults,
  type Notice,
  openQueries as openRawQueries,
  type Queries,
  type QueryResult,
} from '../query/raw-query.ts'
import { empty } from '../store/database-errors.ts'
import type { Migrated } from '../store/migrate.ts'
import { checkServer } from '../store/migration/check-server.ts'
import { checkSchema } from '../store/migration/schema-version.ts'
import type { Store } from '../store/store.ts'

type Database = { url: string; close(): Promise<void> }

/**
 * Opens the database: returns the URL of the user's own database without a check, or starts the embedded one and migrates it
 * to this version; `check` makes none. `close` releases the embedded one. Throws the errors of the start and of the migration, and
 * ConfigError `no_data` when there is none and none is to be made.
 */
export async function openDatabase(
  config: Config,
  log: Logger,
  signal?: AbortSignal,
  preparation: Preparation = 'check',
): Promise<Database> {
  if (preparation === 'check') await assertDatabase(config)
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

/** Throws ConfigError `no_data` when the data directory has no database yet, with the commands that make one; makes nothing. */
export async function assertDatabase({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl) return
  const { hasEmbeddedPostgres } = await import('../embedded/embedded.ts')
  if (await hasEmbeddedPostgres(dataDir)) return
  const demo = join(dataDir, 'demo')
  const elsewhere = (await hasEmbeddedPostgres(demo))
    ? `the data of the demo is read with MUSETTE_DATA_DIR="${demo}"`
    : 'for data in another place set MUSETTE_DATA_DIR'
  const message = `there is no data in ${resolve(dataDir)}; run: musette login, or musette demo to look around; ${elsewhere}`
  throw new ConfigError('no_data', message)
}

/** Opens the database as openDatabase does, and leaves it at the version that it has. */
export async function openUnmigrated(config: Config, log: Logger, signal?: AbortSignal): Promise<Database> {
  if (config.databaseUrl) return { url: config.databaseUrl, close: async () => undefined }
  const { openEmbeddedPostgres } = await import('../embedded/embedded.ts')
  const embedded = await openEmbeddedPostgres({ log, ...(signal && { signal }) }, { dataDir: config.dataDir })
  return { url: embedded.url, close: () => embedded.close() }
}

/** Migrates the database to this version and returns what was done. Throws ConfigError when it cannot be migrated. */
export async function migrateDatabase(config: Config, log: Logger, signal: AbortSignal): Promise<Migrated> {
  const database = await openUnmigrated(config, log, signal)
  try {
    const { migrate } = await import('../store/migrate.ts')
    return await migrate({ connectionString: database.url, log, signal })
  } finally {
    await database.close()
  }
}

/** What a verb does to a database that is not at this version: only check it, set up an empty one, or also migrate an older one. */
export type Preparation = 'check' | 'set-up' | 'migrate'

/** The codes of checkSchema that each preparation mends. */
const MENDABLE: Readonly<Record<Preparation, readonly string[]>> = {
  check: [],
  'set-up': ['database_empty'],
  migrate: ['database_empty', 'database_unmigrated'],
}

/**
 * Checks that the database is at this version, and brings it there as far as `preparation` allows. Several at once are safe.
 * Throws as checkSchema, checkServer and migrate do.
 */
export async function prepareDatabase(
  { store, log }: { store: Store; log: Logger },
  input: { connectionString: string; preparation: Preparation; signal?: AbortSignal | undefined },
): Promise<void> {
  const { connectionString, preparation, signal } = input
  try {
    if (preparation !== 'check') await store.read(({ client }) => checkServer(client, connectionString))
    await store.read(checkSchema)
  } catch (error) {
    const code = errorCode(error)
    if (!MENDABLE[preparation].includes(code)) throw error
    const { migrate } = await import('../store/migrate.ts')
    await migrate({
      connectionString,
      log,
      // Another process may have made the tables since, of an older version.
      onlyEmpty: code === 'database_empty',
      ...(signal && { signal }),
    })
  }
}

/** Opens a connection for SQL that a person typed; starts the embedded Postgres if it does not run. `write` allows changes. */
export async function openQueries(
  config: Config,
  log: Logger,
  options: { write: boolean; signal?: AbortSignal; onNotice?: (notice: Notice) => void },
): Promise<Queries> {
  const database = await openDatabase(config, log, options.signal)
  try {
    const queries = await openRawQueries({ ...options, connectionString: database.url })
    return {
      async *run(text, signal) {
        try {
          yield* queries.run(text, signal)
        } catch (error) {
          throw errorCode(error) === 'sql_rejected' && (await isEmpty(queries)) ? empty(error) : error
        }
      },
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

/** Tells whether the tables of the mirror are missing. A reading login can tell that, too. */
async function isEmpty(queries: Queries): Promise<boolean> {
  const text = "select 1 where to_regnamespace('training') is null"
  const [result] = await collectResults(queries, text).catch(() => [])
  return (result?.rows.length ?? 0) > 0
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
