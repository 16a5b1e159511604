import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError, errorCode } from './errors.ts'
import { closeAfter } from './release-stack.ts'
import { quoteShell } from './text.ts'

/** Writes a file with mode 0600 through a temporary file and a rename. When it resolves, content and name are on disk. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const scratch = `${path}.${randomUUID()}`
  try {
    await writeFlushed(scratch, text, 0o600)
    await renameDurably(scratch, path)
  } catch (error) {
    await rm(scratch, { force: true })
    throw error
  }
}

/**
 * Reads how much space the disk of a folder has left for this user: bytes, and number of files (Infinity if the file system has no limit).
 * Undefined if the disk reports no size, as some network shares do; a disk without a size is not full.
 */
export async function readRoom(folder: string): Promise<{ bytes: number; files: number } | undefined> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(folder)
  return blocks === 0 ? undefined : { bytes: bavail * bsize, files: files > 0 ? ffree : Infinity }
}

/** Returns the command that lets this user use a path: chmod if the user owns it, otherwise chown. */
export async function commandToUse(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const stats = await stat(at).catch(() => undefined)
    if (stats?.uid === process.getuid?.()) return `chmod u+rwX ${quoteShell(at)}`
    const give = `sudo chown -R "$(id -un)" ${quoteShell(path)}`
    if (stats) return at === path ? give : `sudo mkdir -p ${quoteShell(path)} && ${give}`
  }
}

/** Writes a new file and flushes its content, but not its name (see flushDirectory). Removes it after a failure. Throws EEXIST. */
export async function writeFlushed(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await closeAfter(file, async () => {
      await file.writeFile(content)
      await file.sync()
    })
  } catch (error) {
    // On a full disk the file is created without its content. Errors of a file handle have no path.
    await rm(path, { force: true })
    throw error instanceof Error ? Object.assign(error, { path }) : error
  }
}

/** Renames a file within its folder and flushes the folder, so that a power cut does not undo it. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await flushDirectory(dirname(to))
}

/** Flushes the entries of a folder to disk. Does nothing on Windows, which cannot open a folder and does not need it. */
async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  await closeAfter(await open(directory, O_RDONLY | (O_DIRECTORY ?? 0)), (folder) => folder.sync())
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Reads a plain file in a place where others may put anything: reading a pipe would block a thread of the file system pool until somebody
 * writes, and a link could lead elsewhere. Throws ConfigError `not_a_plain_file`, and Node's errors (ELOOP for a link).
 */
export async function readPlainFile(path: string): Promise<Buffer> {
  return closeAfter(await open(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0)), async (file) => {
    if ((await file.stat()).isFile()) return file.readFile()
    throw new ConfigError('not_a_plain_file', `${path} is not a plain file; remove it`)
  })
}

/** For `.catch()`: returns undefined if a file does not exist (ENOENT), otherwise rethrows the error. */
export function orMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error
}

/** For `.catch()`: returns an empty list if a folder does not exist (ENOENT), otherwise rethrows the error. */
export function orNone(error: unknown): string[] {
  return orMissing(error) ?? []
}
