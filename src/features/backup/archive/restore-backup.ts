import { createHash, type Hash } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import { copyIn, copyOut } from '../../../core/store/copy.ts'
import { mapDatabaseError, sqlstateOf } from '../../../core/store/database-errors.ts'
import { applyMigrations, disableTriggers, withMigrationLock } from '../../../core/store/migrate.ts'
import { findVersion, readMigrations } from '../../../core/store/migration/schema-version.ts'
import { openStore } from '../../../core/store/store.ts'
import { ConfigError, errorCode, MusetteError } from '../../../kit/errors.ts'
import { type CopyProgress, watchCopy } from '../database/copy-progress.ts'
import {
  analyzeTables,
  dropEmptyTables,
  lockEmptyTables,
  makeBeginLine,
  setSequences,
} from '../database/load-tables.ts'
import { findColumns, findWideTables, quoteColumns, quoteName } from '../database/tables.ts'
import { damaged, newerBackup } from './backup-errors.ts'
import { countManifestRows, type Manifest } from './manifest.ts'
import type { Archive } from './read-archive.ts'

/**
 * Restores a backup into an empty database in one transaction: creates the tables of the backup's version, loads and verifies their rows,
 * and migrates them to this version. On an error the database stays unchanged. Throws ConfigError `restore_not_empty`, `backup_newer`,
 * `backup_unknown`, migrate's errors, the errors of the archive and of the store, and the signal's reason; with `compare` also MusetteError
 * `backup_differs`.
 */
export async function restoreBackup(
  deps: { log: Logger },
  input: {
    connectionString: string
    archive: Archive
    signal: AbortSignal
    /** reads every loaded table again and compares it with the archive, byte for byte */
    compare?: boolean
    folder?: string
    /** reports the progress; uses another connection */
    onProgress?: ((now: CopyProgress) => void) | undefined
  },
): Promise<void> {
  const { archive, folder } = input
  const known = await readMigrations(folder)
  const version = await blameDamage(input, () => checkVersion(archive.manifest, known))
  await withMigrationLock({ ...deps, ...input }, async (client) => {
    // The bytes may arrive slowly, for example from another machine.
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
    const { version: present } = await findVersion(client, folder)
    await lockEmptyTables(client)
    // A plain table loads faster than a partitioned one, and its rows are compared in the order of the archive.
    if (present > version || (await client.query(PARTITIONS)).rowCount) await dropEmptyTables(client)
    await applyMigrations(client, { folder, upTo: version })
    const digests = new Map<string, Hash>()
    if (input.compare) for (const { name } of archive.manifest.tables) digests.set(name, createHash('sha256'))
    await blameDamage(input, () => loadTables(client, { ...deps, ...input, digests }))
    await archive.verify()
    await compareTables(client, archive.manifest, digests)
    await applyMigrations(client, { folder })
    await client.query(makeBeginLine(archive.manifest.made_at))
    await analyzeTables(client)
  })
}

const PARTITIONS = `SELECT FROM pg_inherits WHERE inhparent IN (to_regclass('training.samples'), to_regclass('training.fit_records'))`

/** Errors that a damaged archive can cause: a backup of an unknown or later version, or rows that Postgres refuses. */
const MAY_BE_DAMAGE: ReadonlySet<string> = new Set([
  'backup_newer',
  'backup_unknown',
  'sequence_missing',
  'database_error',
  'database_unmigrated',
])
const BAD_COPY_FILE_FORMAT = '22P04'

/**
 * Runs a step with an archive. If the step fails and the archive turns out to be damaged, throws the damage instead of the step's error.
 */
async function blameDamage<T>(
  { archive, signal }: { archive: Archive; signal: AbortSignal },
  step: () => T | Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const mapped = mapDatabaseError(error, 'query')
    if (!MAY_BE_DAMAGE.has(errorCode(mapped))) throw error
    await archive.verifyRest(signal)
    if (sqlstateOf(mapped) === BAD_COPY_FILE_FORMAT) throw damaged('its rows', mapped)
    throw error
  }
}

/** Loads all tables. Adds a table's bytes to the table's digest, if there is one. */
async function loadTables(
  client: pg.ClientBase,
  input: Parameters<typeof restoreBackup>[1] & { log: Logger; digests: ReadonlyMap<string, Hash> },
): Promise<void> {
  const { archive, digests, onProgress, connectionString, log } = input
  const { tables, sequences, musette } = archive.manifest
  const known = await findColumns(client)
  for (const { name, columns } of tables) {
    const missing = known.has(name)
      ? columns.find((column) => !known.get(name)?.includes(column))
      : `the table ${name}`
    if (missing !== undefined) throw unknownBackup(musette, missing)
  }
  // TRUNCATE gives the empty tables new files, so Postgres may write frozen rows, and may skip the WAL unless a replica needs it. The
  // sequences get new files too, because a rollback does not undo a setval.
  await client.query(`TRUNCATE ${tables.map(({ name }) => quoteName(name)).join(', ')} RESTART IDENTITY`)
  // Disables the triggers, because the rows already contain the values that the triggers would write.
  const enableTriggers = await disableTriggers(client)
  const total = countManifestRows({ tables })
  const store = openStore({ log }, { connectionString, maxConnections: 1 })
  // A binary COPY buffers 1,000 rows of any size in the server's memory. With a volatile condition, COPY inserts each row at once.
  const wide = await findWideTables(client)
  const watch = onProgress && (await watchCopy(store, client, { onProgress, total }))
  try {
    for (const table of tables) {
      const bytes = digested(archive.tableBytes(table.name), digests.get(table.name))
      const each = wide.has(table.name) ? ' WHERE random() >= 0' : ''
      const command = `${quoteColumns(table)} FROM STDIN (FORMAT binary, FREEZE)${each}`
      const rows = await copyIn(client, command, bytes)
      if (rows !== table.rows) throw damaged(`${rows} of ${table.rows} rows of ${table.name}`)
      watch?.add(rows)
    }
  } finally {
    await watch?.stop()
    await store.close()
  }
  await setSequences(client, sequences)
  await enableTriggers()
}

async function* digested(chunks: AsyncIterable<Buffer>, digest: Hash | undefined): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    digest?.update(chunk)
    yield chunk
  }
}

/** Reads the loaded tables with a digest again and compares them. Throws MusetteError `backup_differs`. */
async function compareTables(
  client: pg.ClientBase,
  { tables }: Manifest,
  digests: ReadonlyMap<string, Hash>,
): Promise<void> {
  // Otherwise Postgres may start the scan of a large table in its middle.
  await client.query('SET LOCAL synchronize_seqscans = off')
  for (const table of tables) {
    const loaded = digests.get(table.name)?.digest('hex')
    if (loaded === undefined) continue
    const digest = createHash('sha256')
    for await (const chunk of copyOut(client, quoteColumns(table)).chunks) digest.update(chunk)
    if (digest.digest('hex') !== loaded) {
      const message = `the restored rows of ${table.name} differ from the backup, although its checksums are right; make a new backup, keep this one, and report it`
      throw new MusetteError('backup_differs', message)
    }
  }
}

function unknownBackup(version: string, what: string): ConfigError {
  const message = `the backup was made by musette ${version}, and this version does not know ${what}; install that version`
  return new ConfigError('backup_unknown', message)
}

/** Returns the version of a backup: its last migration. Throws ConfigError unless this program knows all of the backup's migrations. */
function checkVersion({ migrations, musette }: Manifest, known: readonly number[]): number {
  const version = Math.max(...migrations)
  if (version > Math.max(...known)) throw newerBackup(musette)
  if (migrations.some((migration) => !known.includes(migration)))
    throw unknownBackup(musette, 'its migrations')
  return version
}
