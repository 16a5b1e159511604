import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { findAccounts } from '../../core/store/account-rows.ts'
import { checkSchema, findVersion, otherVersion } from '../../core/store/migration/schema-version.ts'
import { openStore, type Store } from '../../core/store/store.ts'
import { readHeldKeys } from '../../core/vault/key-file.ts'
import { keyIdOf } from '../../core/vault/seal.ts'
import { findEverySealed } from '../../core/vault/stored-credentials.ts'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { orNone } from '../../kit/files.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { MINUTE, systemClock } from '../../kit/time.ts'
import { openDatabase, openUnmigrated } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import type { Manifest } from './archive/manifest.ts'
import { readBackupFile } from './archive/named-file.ts'
import { type Archive, openArchive } from './archive/read-archive.ts'
import { restoreBackup } from './archive/restore-backup.ts'
import { type BackupReport, writeBackup, writeBackupFile } from './archive/write-backup.ts'
import { readBackupManifest } from './backup-folder.ts'
import type { CopyProgress } from './database/copy-progress.ts'
import { withTemporaryDatabase } from './database/temporary-database.ts'

export { describeContent } from './archive/manifest.ts'

/** The logins of a database with the ids of their keys. `missing` has the logins whose key this configuration lacks. */
type KeyNeeds = Readonly<Record<'needed' | 'missing', ReadonlyArray<{ account: string; keyId: string }>>>

/**
 * Backs up the whole database to a file, or in pieces to `write`. Refuses a database of another version. Throws as writeBackupFile does,
 * and ConfigError `nothing_to_back_up` if the database has no account, because it is probably the wrong database.
 */
export async function backUp(
  deps: { config: Config; log: Logger },
  input: {
    to: { path: string } | { write: (bytes: Buffer) => Promise<void> }
    signal: AbortSignal
    onProgress?: (now: CopyProgress) => void
  },
): Promise<BackupReport & { key: KeyNeeds }> {
  const { config, log } = deps
  const { to, signal, onProgress } = input
  const options = { maxConnections: 2, onlyReads: true }
  return closeAfter(await openDatabase(config, log, signal), ({ url: connectionString }) =>
    closeAfter(openStore({ log }, { connectionString, ...options }), async (store) => {
      await store.read(checkSchema).catch(async (error: unknown) => {
        throw errorCode(error) === 'database_unmigrated' ? await explainOlder(store) : error
      })
      if ((await store.read(findAccounts)).length === 0) {
        const where = config.databaseUrl
          ? 'the database of DATABASE_URL'
          : `the embedded Postgres in ${config.dataDir} (MUSETTE_DATA_DIR)`
        const message = `there is no account in ${where}, so there is nothing to back up, and no file was written; check that setting`
        throw new ConfigError('nothing_to_back_up', message)
      }
      const writing = { store, now: systemClock }
      const report =
        'path' in to
          ? await writeBackupFile(writing, { ...to, byHand: true, signal, onProgress })
          : await writeBackup(writing, { ...to, signal, onProgress })
      return { ...report, key: await findKeyNeeds(store, config) }
    }),
  )
}

/**
 * Restores a backup into the empty database of this configuration; returns its manifest and the keys of its logins. Throws as restoreBackup
 * does.
 */
export async function restoreFrom(
  deps: { config: Config; log: Logger },
  input: RestoreInput,
): Promise<{ manifest: Manifest; key: KeyNeeds }> {
  const { config, log } = deps
  const archive = await openSource(input.from, { byHand: true })
  return closeAfter(await openUnmigrated(config, log, input.signal), async ({ url: connectionString }) => {
    await restoreBackup({ log }, { ...input, archive, connectionString })
    const store = openStore({ log }, { connectionString, maxConnections: 1 })
    return { manifest: archive.manifest, key: await closeAfter(store, (all) => findKeyNeeds(all, config)) }
  })
}

/** The source of a restore, its abort signal and its progress report. */
type RestoreInput = {
  from: { path: string } | { source: AsyncIterable<Buffer> }
  signal: AbortSignal
  onProgress?: (now: CopyProgress) => void
}

function openSource(from: RestoreInput['from'], how?: { byHand: boolean }): Promise<Archive> {
  return openArchive('path' in from ? readBackupFile(from.path, how) : from.source)
}

/**
 * Proves a backup: restores it into a temporary database and compares each table with the archive, byte for byte. Makes the database on the
 * server of DATABASE_URL. If DATABASE_URL is not set, or its login may not make a database, uses a temporary embedded Postgres in the data
 * directory. Throws as restoreBackup and withTemporaryDatabase do.
 */
export async function verifyBackup(
  deps: { config: Pick<Config, 'databaseUrl' | 'dataDir'>; log: Logger },
  input: RestoreInput,
): Promise<Manifest> {
  const { config, log } = deps
  const { from, signal } = input
  // Refuses a file that is not a backup before a server is started.
  if ('path' in from) await readBackupManifest(from)
  const verifyOn = (server: string) =>
    withTemporaryDatabase(server, async (connectionString) => {
      const archive = await openSource(from)
      await restoreBackup({ log }, { ...input, archive, connectionString, compare: true })
      return archive.manifest
    })
  if (config.databaseUrl !== undefined) {
    try {
      return await verifyOn(config.databaseUrl)
    } catch (error) {
      if (errorCode(error) !== 'create_database_denied' || !(await canEmbed())) throw error
    }
  }
  return withOwnServer(deps, signal, verifyOn)
}

/** Runs work with the URL of a temporary embedded Postgres in a folder of the data directory, and removes the folder afterwards. */
async function withOwnServer<T>(
  { config, log }: { config: Pick<Config, 'dataDir'>; log: Logger },
  signal: AbortSignal,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { openEmbeddedPostgres } = await import('../../embedded/embedded.ts')
  await removeLeft(config.dataDir)
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await mkdtemp(join(config.dataDir, VERIFYING))
  try {
    return await closeAfter(await openEmbeddedPostgres({ log, signal }, { dataDir }), ({ url }) => work(url))
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 })
  }
}

const VERIFYING = 'verify-'
/** Pattern of the folder names that mkdtemp makes. */
const MADE = /^verify-[A-Za-z0-9]{6}$/

/** Removes the folders that killed processes left. */
async function removeLeft(dataDir: string): Promise<void> {
  const { acquireLock } = await import('../../embedded/lock.ts')
  const names = await readdir(dataDir).catch(orNone)
  for (const name of names.filter((each) => MADE.test(each))) {
    const folder = join(dataDir, name)
    const found = await lstat(folder).catch(() => undefined)
    // Skip a new folder, because its process may not have locked the folder yet.
    if (!found?.isDirectory() || Date.now() - found.mtimeMs < MINUTE) continue
    const lock = await acquireLock(folder)
    if (lock) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    await lock?.release()
  }
}

/** Reports whether this install has the programs of the embedded Postgres; a container does not. */
async function canEmbed(): Promise<boolean> {
  const { resolveBinaryPackage } = await import('../../embedded/binaries.ts')
  try {
    return resolveBinaryPackage() !== ''
  } catch {
    return false
  }
}

async function findKeyNeeds(store: Store, config: Config): Promise<KeyNeeds> {
  const logins = await store.read(findEverySealed)
  const needed = logins.map(({ name, sealed }) => ({ account: name, keyId: sealed.keyId }))
  const held = readHeldKeys(config).map(keyIdOf)
  return { needed, missing: needed.filter(({ keyId }) => !held.includes(keyId)) }
}

/** Makes the error for the backup of an older database: only the older version of musette knows all of its tables and columns. */
async function explainOlder(store: Store): Promise<ConfigError> {
  const { madeBy } = await store.read(({ client }) => findVersion(client))
  const other = otherVersion(madeBy)
  const by = other === undefined ? 'the version that made it' : `musette ${other}`
  const message = `the database is older than this version of musette, which cannot check that a backup of it would be complete; back it up with ${by} or with pg_dump, or first run: musette migrate`
  return new ConfigError('database_unmigrated', message)
}
