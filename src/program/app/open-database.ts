import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import { outdated } from '../../core/store/database-errors.ts'
import type { Migrated } from '../../core/store/migrate.ts'
import { checkServer } from '../../core/store/migration/check-server.ts'
import type { MigrationPlan } from '../../core/store/migration/migration-plan.ts'
import {
  checkSchema,
  compareVersions,
  findApplied,
  readMigrations,
} from '../../core/store/migration/schema-version.ts'
import type { Store } from '../../core/store/store.ts'
import type { MajorChange, Servers } from '../../embedded/change-major.ts'
import { ConfigError, errorCode, errorLine } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { quoteShell } from '../../kit/text.ts'
import { SECOND } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'

export type Database = {
  url: string
  /** whether this process runs the embedded Postgres; if so, Postgres ends with the process */
  isRunHere?(): boolean
  close(): Promise<void>
}

/**
 * Opens the database. Returns the URL of the user's own database without a check, or starts the embedded database and migrates it to this
 * version; with `read`, it also accepts a newer version and changes nothing in it. `close` releases the embedded database. Throws the errors
 * of the start and of the migration, and ConfigError `no_data` if there is no database.
 */
export async function openDatabase(
  config: Config,
  log: Logger,
  signal = new AbortController().signal,
  preparation: 'check' | 'read' = 'check',
): Promise<Database> {
  await assertDatabase(config)
  const database = await openUnmigrated(config, log, signal)
  if (config.databaseUrl) return database
  try {
    await migrateTables({ config, log, signal }, database)
    await followCopiedData({ log }, { database, dataDir: config.dataDir })
    return database
  } catch (error) {
    if (preparation === 'read' && READABLE.includes(errorCode(error))) return database
    await database.close()
    throw error
  }
}

/** Error codes of a database of another version that cannot be migrated now but can be read. */
const READABLE: readonly string[] = ['database_newer', 'embedded_in_use']

/** Throws ConfigError `no_data`, with the commands that create a database, if the data directory has none. Creates nothing. */
export async function assertDatabase({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl) return
  const { hasEmbeddedPostgres } = await import('../../embedded/embedded.ts')
  if (await hasEmbeddedPostgres(dataDir)) return
  const demo = join(dataDir, 'demo')
  const elsewhere = (await hasEmbeddedPostgres(demo))
    ? `for the data of the demo, set MUSETTE_DATA_DIR=${quoteShell(demo)}`
    : 'for data in another place, set MUSETTE_DATA_DIR'
  const message = `there is no data in ${resolve(dataDir)}; run: musette login, or musette demo to look around; ${elsewhere}`
  throw new ConfigError('no_data', message)
}

/** Opens the database as openDatabase does, but does not migrate it. */
export async function openUnmigrated(config: Config, log: Logger, signal?: AbortSignal): Promise<Database> {
  if (config.databaseUrl) return { url: config.databaseUrl, close: async () => undefined }
  const { openEmbeddedPostgres } = await import('../../embedded/embedded.ts')
  const { dataDir, takeOver } = config
  const embedded = await openEmbeddedPostgres({ log, ...(signal && { signal }) }, { dataDir, takeOver })
  return { url: embedded.url, isRunHere: () => embedded.owned, close: () => embedded.close() }
}

type Deps = { config: Config; log: Logger; signal: AbortSignal }
type OnProgress = (now: { done: number; total: number }) => void
type Copied = { copied: string[]; leftOut: string[] }

/**
 * Copies a feature's data from one server to another. Returns phrases for a person: what was copied, and what was left out. Without `to`,
 * copies nothing and only returns the phrases.
 */
export type ServerCopy = (deps: Deps, input: Servers & { onProgress?: OnProgress }) => Promise<Copied>

/** A feature that copies all tables, or the objects that belong to the server; tables are copied first. */
export type CopyFeature = Readonly<{
  copyTables?: () => Promise<ServerCopy>
  copyLogins?: () => Promise<ServerCopy>
}>

/**
 * Upgrades the files of an embedded Postgres of an earlier major version, see changeMajor; returns undefined if there is nothing to upgrade.
 * With `plan`, changes nothing and calls `plan` with the address of the old server.
 */
export async function bringToMajor<P = undefined>(
  deps: Deps,
  features: readonly CopyFeature[],
  { onProgress, plan }: { onProgress?: OnProgress; plan?: (url: string) => Promise<P> },
) {
  const { databaseUrl, dataDir, takeOver = false } = deps.config
  if (databaseUrl || !features.some(({ copyTables }) => copyTables)) return undefined
  const { changeMajor } = await import('../../embedded/change-major.ts')
  const copy = async (servers: Servers) => {
    const done: Copied & { plan?: P } = { copied: [], leftOut: [] }
    if (plan) done.plan = await plan(servers.from)
    else await prepareChange(deps, { connectionString: servers.from })
    for (const load of features.flatMap(({ copyTables, copyLogins }) => copyTables ?? copyLogins ?? [])) {
      const part = await (await load())(deps, { ...servers, ...(onProgress && { onProgress }) })
      done.copied.push(...part.copied)
      done.leftOut.push(...part.leftOut)
    }
    return done
  }
  return changeMajor(deps, { dataDir, copy, isPlan: plan !== undefined, takeOver })
}

/** Reads which files earlier major upgrades have kept, see readKept. */
export async function readOldFiles({ dataDir }: Config) {
  return (await import('../../embedded/change-major.ts')).readKept(dataDir)
}

/** Migrates the database to this version and returns the changes. Throws ConfigError if it cannot be migrated. */
export async function migrateDatabase(deps: Deps): Promise<Migrated> {
  const database = await openUnmigrated(deps.config, deps.log, deps.signal)
  return closeAfter(database, () => migrateTables(deps, database))
}

/** Where a database is, and whether this process runs its embedded Postgres; `isRunHere` is undefined for the user's own database. */
type Place = Pick<Database, 'url' | 'isRunHere'>

/**
 * Migrates a database, after the step that the settings demand before a change, such as a backup. Throws TransientError `embedded_in_use`
 * if another process runs the embedded Postgres: a daemon of the older version would continue with tables that it does not know, and the
 * server would end with that daemon.
 */
async function migrateTables(deps: Deps, { url: connectionString, isRunHere }: Place, onlyEmpty = false) {
  const { migrate } = await import('../../core/store/migrate.ts')
  const { config, log, signal } = deps
  let done: Promise<unknown> | undefined
  const before = async () => {
    if (isRunHere?.() === false)
      throw await (await import('../../embedded/not-ready.ts')).describeInUse(config.dataDir)
    done ??= prepareChange(deps, { connectionString })
    return done
  }
  return migrate({ connectionString, log, signal, onlyEmpty, before })
}

async function prepareChange(
  { config, log, signal }: Deps,
  input: { connectionString: string; isPlan?: boolean },
) {
  for (const { beforeChange } of config.features.keys()) {
    const found = await beforeChange?.({ config, log }, { ...input, signal })
    if (found) return found
  }
  return null
}

/** What `migrate` would do, and the versions of the queue's tables in Postgres, which the daemon migrates; null with Redis. */
export type DatabasePlan = MigrationPlan & {
  queue: { from: number; to: number } | null
  /** the backup before the migration and the space that it needs, or null for no backup */
  backup: { dir: string; needed_bytes: number } | null
}

/** What happens to an embedded Postgres of an earlier major version, and to its tables if its programs are on this machine. */
export type MajorPlan = Partial<DatabasePlan> & { postgres: MajorChange & { left_out: readonly string[] } }

/** Finds what `migrate` would do to the database, and changes nothing. Throws ConfigError as migrateDatabase does, and `no_data` if there is no database yet. */
export async function findDatabasePlan(
  deps: Deps,
  features: readonly CopyFeature[],
): Promise<MajorPlan | (DatabasePlan & { postgres: null })> {
  const { config, log, signal } = deps
  await assertDatabase(config)
  const older = await bringToMajor(deps, features, { plan: (url) => findPlanOf(deps, url) })
  if (older)
    return { ...older.copied?.plan, postgres: { ...older.change, left_out: older.copied?.leftOut ?? [] } }
  return closeAfter(await openUnmigrated(config, log, signal), async ({ url }) => ({
    ...(await findPlanOf(deps, url)),
    postgres: null,
  }))
}

async function findPlanOf(deps: Deps, url: string): Promise<DatabasePlan> {
  const { config, log } = deps
  const { findMigrationPlan } = await import('../../core/store/migration/migration-plan.ts')
  const { openStore } = await import('../../core/store/store.ts')
  const { findQueueVersions } = await import('../../core/jobs/backend.ts')
  return closeAfter(openStore({ log }, { connectionString: url }), async (store) => {
    const plan = await store.read(async ({ client }) => {
      await checkServer(client, url)
      return findMigrationPlan(client)
    })
    const isChange = plan.from !== null && plan.migrations.length > 0
    return {
      ...plan,
      queue: config.redisUrl === undefined ? await findQueueVersions(url) : null,
      backup: isChange ? await prepareChange(deps, { connectionString: url, isPlan: true }) : null,
    }
  })
}

/** What a verb does to a database of another version: only check it, set up an empty one, or also migrate an older one. */
export type Preparation = 'check' | 'set-up' | 'migrate'

/** The error codes of checkSchema that each preparation solves. */
const MENDABLE: Readonly<Record<Preparation, readonly string[]>> = {
  check: [],
  'set-up': ['database_empty'],
  migrate: ['database_empty', 'database_unmigrated'],
}

/** Brings the database to this version as far as `preparation` allows; several processes may do so at once. Throws as checkSchema, checkServer and migrate do. */
export async function prepareDatabase(
  { store, ...deps }: Deps & { store: Store },
  { preparation, ...place }: Place & { preparation: Preparation },
): Promise<void> {
  try {
    if (preparation !== 'check') await store.read(({ client }) => checkServer(client, place.url))
    await store.read(checkSchema)
  } catch (error) {
    const code = errorCode(error)
    if (!MENDABLE[preparation].includes(code)) throw error
    // Meanwhile another process of an older version may have made the tables.
    await migrateTables(deps, place, code === 'database_empty')
  }
}

/** Timeout for reading the version of a database that is only read, ms. */
const LOOK_WITHIN_MS = 2 * SECOND

/**
 * Finds what a person who reads a database of another version must know: both versions and the command that helps. Returns undefined for
 * this version, or if the database does not answer soon or the login cannot see its version.
 */
export async function findMismatch(connectionString: string): Promise<string | undefined> {
  const { withClient } = await import('../../kit/postgres-client.ts')
  const limits = { connectionTimeoutMillis: LOOK_WITHIN_MS, query_timeout: LOOK_WITHIN_MS }
  const options = { ...limits, connectionString, application_name: 'musette', typed: true }
  const applied = await withClient(options, findApplied).catch(() => [])
  if (applied.length === 0) return undefined
  try {
    const { version, target } = compareVersions(applied, await readMigrations())
    return version < target ? outdated().message : undefined
  } catch (error) {
    return errorLine(error)
  }
}

/** Returns the path of the file with the newest change that the daemon saw of a database. */
export function seenChangePath(dataDir: string, identity: string): string {
  return join(dataDir, `newest-change-${identity}.json`)
}

/**
 * If the data directory is a copy, begins a new line of the embedded database, so that the folders of the original stay with the original.
 * Only the process that runs the server does this. The tables must be at this version.
 */
export async function followCopiedData(
  { log }: { log: Logger },
  { database, dataDir }: { database: { url: string; isRunHere?(): boolean }; dataDir: string },
): Promise<void> {
  if (!database.isRunHere?.()) return
  const { followCopy } = await import('../../embedded/copied.ts')
  await followCopy(dataDir, async () => {
    const { openStore } = await import('../../core/store/store.ts')
    const { beginCopy } = await import('../../core/store/feed/follow-database.ts')
    const store = openStore({ log }, { connectionString: database.url })
    const { identity, line } = await closeAfter(store, ({ transaction }) => transaction(beginCopy))
    // Remove the file, because it has the newest change of the original database.
    await rm(seenChangePath(dataDir, identity), { force: true })
    log.warn({ line }, 'the data directory is a copy of another one; its database has a new line')
  })
}
