import { createReadStream } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import type { Store } from '../../../core/store/store.ts'
import { type DurableFile, openDurableFile, orMissing } from '../../../kit/files.ts'
import type { Clock } from '../../../kit/time.ts'
import type { CopyProgress } from '../database/copy-progress.ts'
import { mapFileError, onDisk } from './backup-errors.ts'
import { type BackupReport, writeBackup } from './write-backup.ts'

const READ_BYTES = 1024 * 1024

/**
 * Writes a backup to a file, which gets its name when it is complete and on the disk; an older file of that name is then
 * replaced. Throws as writeBackup does, TransientError `backup_disk_full` and ConfigError `backup_file`.
 */
export async function writeBackupFile(
  deps: { store: Store; now: Clock },
  input: {
    path: string
    version: string
    signal: AbortSignal
    onProgress?: ((now: CopyProgress) => void) | undefined
  },
): Promise<BackupReport> {
  const { path, ...rest } = input
  const file = await onDisk(path, () => openTarget(path))
  try {
    const write = (bytes: Buffer) => onDisk(path, () => file.write(bytes))
    const report = await writeBackup(deps, { ...rest, write })
    await onDisk(path, () => file.commit())
    return report
  } catch (error) {
    await file.abandon()
    throw error
  }
}

/** Reads a backup file in pieces. Throws ConfigError `backup_file`. */
export async function* readBackupFile(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) yield chunk as Buffer
  } catch (error) {
    throw mapFileError(error, 'read', path)
  }
}

/** Opens the target of a link, so that the link stays, or a pipe or device. */
async function openTarget(path: string): Promise<DurableFile> {
  const stats = await stat(path).catch(orMissing)
  if (!stats) return openDurableFile(path)
  if (stats.isFile()) return openDurableFile(await realpath(path))
  const file = await open(path, 'w')
  return {
    write: (bytes) => file.writeFile(bytes),
    commit: () => file.close(),
    abandon: () => file.close().catch(() => undefined),
  }
}
