import { createReadStream } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { orMissing } from '../../../kit/files.ts'
import { type DurableFile, openFolder } from '../../../kit/folders/folder.ts'
import { openBackup } from '../backup-folder.ts'
import { mapFileError } from './backup-errors.ts'

/** Large enough for few reads of a file of gigabytes. */
const READ_BYTES = 1024 * 1024

/** Opens a file of mode 0600 that gets its name when it is complete. */
export async function openTarget(path: string): Promise<DurableFile> {
  const folder = await openFolder(dirname(path))
  try {
    const file = await folder.createDurable(basename(path))
    return {
      write: file.write,
      async commit() {
        await file.commit()
        await folder.close()
      },
      async abandon() {
        await file.abandon()
        await folder.close()
      },
    }
  } catch (error) {
    await folder.close()
    throw error
  }
}

/** Opens what a person names: the target of a link, so that the link stays, a pipe, or a device. */
export async function openNamedTarget(path: string): Promise<DurableFile> {
  const stats = await stat(path).catch(orMissing)
  if (!stats) return openTarget(path)
  if (stats.isFile()) return openTarget(await realpath(path))
  const file = await open(path, 'w')
  return {
    write: (bytes) => file.writeFile(bytes),
    commit: () => file.close(),
    abandon: () => file.close().catch(() => undefined),
  }
}

/** Reads a backup in pieces: a plain file, or with `byHand` what a person names, also a link or a pipe. Throws ConfigError `backup_file`. */
export async function* readBackupFile(path: string, { byHand = false } = {}): AsyncGenerator<Buffer> {
  try {
    const how = { highWaterMark: READ_BYTES }
    const stream = byHand ? createReadStream(path, how) : (await openBackup(path)).createReadStream(how)
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw mapFileError(error, 'read', path)
  }
}
