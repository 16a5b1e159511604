import { createReadStream } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { orMissing } from '../../../kit/files.ts'
import { openFolder } from '../../../kit/folders/folder.ts'
import { closeAfter } from '../../../kit/release-stack.ts'
import { openBackup } from '../backup-folder.ts'
import { mapFileError } from './backup-errors.ts'

/** Bytes per read, large so that a file of several gigabytes needs few reads. */
const READ_BYTES = 1024 * 1024

/**
 * Runs work that writes a file of mode 0600. Once the work succeeds, the file gets its name and replaces an older file or link of that
 * name. With `byHand` (a path that a person typed), keeps a link and replaces the link's target, and writes directly into a pipe or device.
 */
export async function writeTarget<T>(
  path: string,
  { byHand }: { byHand: boolean },
  work: (write: (bytes: Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  const named = byHand ? await stat(path).catch(orMissing) : undefined
  if (named && !named.isFile())
    return closeAfter(await open(path, 'w'), (file) => work((bytes) => file.writeFile(bytes)))
  const target = named ? await realpath(path) : path
  return closeAfter(await openFolder(dirname(target)), async (folder) => {
    const file = await folder.createDurable(basename(target))
    try {
      const done = await work(file.write)
      await file.commit()
      return done
    } catch (error) {
      await file.abandon()
      throw error
    }
  })
}

/** Reads a backup in chunks. Accepts only a plain file or, with `byHand`, also a link or a pipe. Throws ConfigError `backup_file`. */
export async function* readBackupFile(path: string, { byHand = false } = {}): AsyncGenerator<Buffer> {
  try {
    const how = { highWaterMark: READ_BYTES }
    const stream = byHand ? createReadStream(path, how) : (await openBackup(path)).createReadStream(how)
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw mapFileError(error, 'read', path)
  }
}
