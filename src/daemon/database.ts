import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { findEmbeddedUrl, openEmbeddedPostgres } from '../embedded/embedded.ts'
import { MINUTE, SECOND } from '../kit/durations.ts'
import { TransientError } from '../kit/errors.ts'
import { sleep } from '../kit/sleep.ts'
import { migrate } from '../store/migrate.ts'
import { openQueries as openRawQueries, type Queries, type QueryResult } from '../store/raw-query.ts'

export type Database = { url: string; close(): Promise<void> }

/** The embedded Postgres that `db-url` started goes away when nobody has been connected for this long. */
const HOLD_IDLE_MS = 10 * MINUTE
const HOLD_LOOK_EVERY_MS = 30 * SECOND
/** The first start makes the database's files, which can take a while on a slow disk. */
const SHARE_WITHIN_MS = 60 * SECOND

/**
 * Opens the database: the user's own by URL as it is, or the embedded one, which belongs to this program and is
 * brought to this version by itself.
 */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.databaseUrl) return { url: config.databaseUrl, close: async () => undefined }
  const embedded = await openEmbeddedPostgres({ log }, { dataDir: config.dataDir })
  try {
    await migrate({ connectionString: embedded.url, log })
  } catch (error) {
    await embedded.close()
    throw error
  }
  return { url: embedded.url, close: () => embedded.close() }
}

/** Brings the database to this version. */
export async function migrateDatabase(config: Config, log: Logger): Promise<void> {
  const database = await openDatabase(config, log)
  try {
    if (config.databaseUrl) await migrate({ connectionString: database.url, log })
  } finally {
    await database.close()
  }
}

/** Opens a connection for SQL that a person typed, starting the embedded Postgres if it does not run. */
export async function openQueries(
  config: Config,
  log: Logger,
  options: { write: boolean },
): Promise<Queries> {
  const database = await openDatabase(config, log)
  try {
    const queries = await openRawQueries({ connectionString: database.url, write: options.write })
    return {
      query: (text) => queries.query(text),
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

/** Runs SQL beside an open house, on a connection of its own. */
export async function queryHouse(house: { databaseUrl: string }, text: string): Promise<QueryResult[]> {
  const queries = await openRawQueries({ connectionString: house.databaseUrl, write: false })
  try {
    return await queries.query(text)
  } finally {
    await queries.close()
  }
}

/**
 * Returns a connection URL that other programs can use now and in a while: a process in the background starts the
 * embedded Postgres, or joins the one that runs, and holds it for as long as somebody is connected.
 */
export async function shareDatabaseUrl(config: Config, log: Logger): Promise<string> {
  if (config.databaseUrl) return config.databaseUrl
  // Also beside one that runs: whoever runs it may be a short verb, and the holder takes over when that ends.
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  spawn(process.execPath, [main, 'db-hold'], { detached: true, stdio: 'ignore' }).unref()
  log.debug('started a process that holds the embedded Postgres')
  for (let waited = 0; waited < SHARE_WITHIN_MS; waited += 100) {
    await sleep(100)
    const url = await findEmbeddedUrl(config.dataDir)
    if (url) return url
  }
  throw new TransientError('embedded_not_started', 'the embedded Postgres did not start; run: musette status')
}

/** Holds the embedded Postgres until nobody has been connected for ten minutes, or until told to stop. */
export async function holdDatabase(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const database = await openDatabase(config, log)
  try {
    for (let idleMs = 0; idleMs < HOLD_IDLE_MS; idleMs += HOLD_LOOK_EVERY_MS) {
      await sleep(HOLD_LOOK_EVERY_MS, signal)
      if (await isInUse(database.url).catch(() => false)) idleMs = 0
    }
  } finally {
    await database.close()
  }
}

async function isInUse(url: string): Promise<boolean> {
  const queries = await openRawQueries({ connectionString: url, write: false })
  try {
    const [result] = await queries.query(
      `select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
    )
    return (result?.rows.length ?? 0) > 0
  } finally {
    await queries.close()
  }
}
