import { join } from 'node:path'
import { findDatabaseFacts, findIdentity } from '../../core/store/database-facts.ts'
import { openStore, type Store } from '../../core/store/store.ts'
import { ConfigError, errorCode, errorLine, TransientError } from '../../kit/errors.ts'
import { readRoom } from '../../kit/files.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { formatBytes } from '../../kit/text.ts'
import { systemClock } from '../../kit/time.ts'
import type { BeforeChange } from '../../program/config/define-settings.ts'
import { writeBackupFile } from './archive/write-backup.ts'
import { BACKUP_MODE, removeFiles, removeOldBackups, scheduledName } from './backup-folder.ts'
import { verifyBackup } from './backups.ts'
import { findKnownTables } from './database/tables.ts'

/** Space needed in addition to the backup and the restored database, bytes: for a new cluster and its WAL. */
const SPARE_BYTES = 200_000_000

/**
 * Makes a verified backup of a database of an older version in the folder of scheduled backups. If the backup fails, throws ConfigError
 * `backup_before_change` and leaves the database unchanged.
 */
export const backUpBeforeChange = (
  { config, log }: Parameters<BeforeChange>[0],
  input: Parameters<BeforeChange>[1] & { dir: string; keep: number },
): ReturnType<BeforeChange> => {
  const { connectionString, signal, isPlan, dir, keep } = input
  return closeAfter(openStore({ log }, { connectionString, maxConnections: 1 }), async (store) => {
    const older = await store.read(({ client }) => findKnownTables(client))
    // A database without this table is older than 1.0.0.
    if (!older.some(({ name }) => name === 'training.database')) return undefined
    const accounts = await store.read(({ client }) => client.query('SELECT FROM training.accounts LIMIT 1'))
    if (accounts.rows.length === 0) return undefined
    const needed = await findNeededBytes(store, config.databaseUrl)
    if (isPlan) return { dir, needed_bytes: needed }
    try {
      await assertRoom(dir, needed)
      const { line } = await store.read(findIdentity)
      const madeAt = systemClock()
      const name = scheduledName(madeAt, line)
      const path = join(dir, name)
      // Logged as a warning, because the backup takes minutes, and a verb shows only warnings.
      log.warn({ path }, 'backing up the database before this newer version migrates it')
      await writeBackupFile({ store, now: systemClock }, { path, signal, older })
      await verifyBackup({ config, log }, { from: { path }, signal }).catch(async (error: unknown) => {
        // The checksums match, so the backup counts as good: the owner of the server may not want to grant CREATEDB.
        if (errorCode(error) === 'create_database_denied') return log.warn(errorLine(error))
        // Remove the backup, because otherwise each attempt would leave one.
        await removeFiles(dir, [name])
        throw error
      })
      await removeOldBackups({ dir, line }, { keep, madeAt })
      return { dir, needed_bytes: needed }
    } catch (error) {
      signal.throwIfAborted()
      const message = `the database stays at its older version, because the backup before its migration failed (${errorLine(error)}); fix that, or migrate without a backup; run: MUSETTE_BACKUP_DIR=off musette migrate`
      throw new ConfigError('backup_before_change', message, { cause: error })
    }
  })
}

/** Returns the space that a verified backup needs in its folder, bytes. With the embedded Postgres this includes the restored database. */
export async function findNeededBytes(store: Store, databaseUrl: string | undefined): Promise<number> {
  const { size_bytes: size } = await store.read(findDatabaseFacts)
  return (databaseUrl === undefined ? 2 : 1) * size + SPARE_BYTES
}

/** Throws TransientError `backup_no_room` if a verified backup could fill the disk of its folder. */
export async function assertRoom(dir: string, needed: number): Promise<void> {
  await (await openFolder(dir, { mode: BACKUP_MODE })).close()
  const room = await readRoom(dir)
  if (!room || room.bytes >= needed) return
  const message = `${dir} has ${formatBytes(room.bytes)} free, but a verified backup needs up to ${formatBytes(needed)}; make room, set MUSETTE_BACKUP_DIR to a folder on another disk, or to off for no backups`
  throw new TransientError('backup_no_room', message)
}
