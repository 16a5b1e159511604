import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError, errorCode } from './errors.ts'
import { closeAfter } from './release-stack.ts'
import { quoteShell } from './text.ts'

/** Writes a file of mode 0600 by a temporary file and a rename; it is flushed to the disk, name and content, when this resolves. */
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
 * Reads how much room the disk of a folder has left for this user: in bytes, and in files, Infinity where the file system counts none.
 * Undefined when the disk does not tell its size, as some network shares: then nobody may conclude that it is full.
 */
export async function readRoom(folder: string): Promise<{ bytes: number; files: number } | undefined> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(folder)
  return blocks === 0 ? undefined : { bytes: bavail * bsize, files: files > 0 ? ffree : Infinity }
}

/** Returns the command that lets this user use a path: a mode for the user's own path, else another owner. */
export async function commandToUse(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const stats = await stat(at).catch(() => undefined)
    if (stats?.uid === process.getuid?.()) return `chmod u+rwX ${quoteShell(at)}`
    const give = `sudo chown -R "$(id -un)" ${quoteShell(path)}`
    if (stats) return at === path ? give : `sudo mkdir -p ${quoteShell(path)} && ${give}`
  }
}

/** Writes a new file and flushes its content to the disk, but not its name (see flushDirectory); after a failure there is none. Throws EEXIST. */
export async function writeFlushed(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await closeAfter(file, async () => {
      await file.writeFile(content)
      await file.sync()
    })
  } catch (error) {
    // A full disk takes the name of a file, and not its content. Errors of a handle have no path.
    await rm(path, { force: true })
    throw error instanceof Error ? Object.assign(error, { path }) : error
  }
}

/** Renames a file within its folder so that a power cut does not undo it. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await flushDirectory(dirname(to))
}

/** Flushes the entries of a folder to the disk. Does nothing on Windows, which cannot open a folder and does not need it. */
async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  await closeAfter(await open(directory, O_RDONLY | (O_DIRECTORY ?? 0)), (folder) => folder.sync())
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Reads a plain file where others may put anything: a pipe would hold one of the few threads for files until somebody writes to it, and a
 * link would lead elsewhere. Throws ConfigError `not_a_plain_file`, and Node's errors (ELOOP for a link).
 */
export async function readPlainFile(path: string): Promise<Buffer> {
  return closeAfter(await open(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0)), async (file) => {
    if ((await file.stat()).isFile()) return file.readFile()
    throw new ConfigError('not_a_plain_file', `${path} is not a plain file; remove it`)
  })
}

/** Takes the place of a file that could not be read: undefined when it does not exist. Throws every other error. */
export function orMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error
}

/** Takes the place of a list of a folder that could not be read: one that does not exist has no names. Throws every other error. */
export function orNone(error: unknown): string[] {
  return orMissing(error) ?? []
}
