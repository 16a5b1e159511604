import type { Logger } from 'pino'
import { readBackupFile, writeBackupFile } from '../backup/backup-file.ts'
import type { Manifest } from '../backup/manifest.ts'
import { openArchive } from '../backup/read-archive.ts'
import { restoreBackup } from '../backup/restore-backup.ts'
import { type BackupReport, writeBackup } from '../backup/write-backup.ts'
import type { Config } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { ConfigError } from '../kit/errors.ts'
import { systemClock } from '../kit/time.ts'
import { findAccounts } from '../store/account-rows.ts'
import type { CopyProgress } from '../store/backup/copy-progress.ts'
import { checkSchema } from '../store/migration/schema-version.ts'
import { openStore, type Store } from '../store/store.ts'
import { readSecretKeys, secretKeyPath } from '../vault/key-file.ts'
import { findKeyIds } from '../vault/rows.ts'
import { keyIdOf } from '../vault/seal.ts'
import { openDatabase, openUnmigrated } from './open-database.ts'

/** Which key opens the logins of a database, and whether this configuration has it. */
export type KeyNeeds = {
  /** the ids of the keys; empty without logins */
  needed: string[]
  missing: string[]
  /** the path of the key file; undefined when MUSETTE_SECRET_KEY is set */
  path: string | undefined
}

/**
 * Backs up the whole database, to a file or, piece by piece, to `write`. Throws as writeBackupFile does, and ConfigError
 * `nothing_to_back_up` for a database without accounts: it is hardly the one that is meant.
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
  const database = await openDatabase(config, log, signal)
  const store = openStore({ log }, { connectionString: database.url, maxConnections: 2 })
  try {
    await store.read(checkSchema)
    if ((await store.read(findAccounts)).length === 0) throw nothingToBackUp(config)
    const writing = { store, now: systemClock }
    const report =
      'path' in to
        ? await writeBackupFile(writing, { path: to.path, version: VERSION, signal, onProgress })
        : await writeBackup(writing, { write: to.write, version: VERSION, signal, onProgress })
    return { ...report, key: await findKeyNeeds(store, config) }
  } finally {
    await store.close()
    await database.close()
  }
}

/** Restores a backup into the empty database of this configuration, and returns what it holds. Throws as restoreBackup does. */
export async function restoreFrom(
  deps: { config: Config; log: Logger },
  input: {
    from: { path: string } | { source: AsyncIterable<Buffer> }
    signal: AbortSignal
    onProgress?: (now: CopyProgress) => void
  },
): Promise<{ manifest: Manifest; key: KeyNeeds }> {
  const { config, log } = deps
  const { from, signal, onProgress } = input
  const archive = await openArchive('path' in from ? readBackupFile(from.path) : from.source)
  const database = await openUnmigrated(config, log, signal)
  const store = openStore({ log }, { connectionString: database.url, maxConnections: 1 })
  try {
    const progress = onProgress && { store, onProgress }
    await restoreBackup({ log }, { archive, signal, connectionString: database.url, progress })
    return { manifest: archive.manifest, key: await findKeyNeeds(store, config) }
  } finally {
    await store.close()
    await database.close()
  }
}

async function findKeyNeeds(store: Store, config: Config): Promise<KeyNeeds> {
  const needed = [...(await store.read(findKeyIds))]
  const held = config.secretKey ? [config.secretKey] : readSecretKeys(config.dataDir)
  const heldIds = held.map(keyIdOf)
  return {
    needed,
    missing: needed.filter((id) => !heldIds.includes(id)),
    path: config.secretKey ? undefined : secretKeyPath(config.dataDir),
  }
}

function nothingToBackUp({ databaseUrl, dataDir }: Config): ConfigError {
  const where = databaseUrl
    ? 'the database of DATABASE_URL'
    : `the embedded Postgres in ${dataDir} (MUSETTE_DATA_DIR)`
  const message = `there is no account in ${where}, so there is nothing to back up, and no file was written; look at that setting`
  return new ConfigError('nothing_to_back_up', message)
}
