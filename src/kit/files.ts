import { randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rename, rm, stat, statfs, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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

/** Writes a new file and flushes its content to the disk, but not its name (see flushDirectory). Throws EEXIST. */
export async function writeFlushed(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  await closeAfter(await open(path, 'wx', mode), async (file) => {
    await file.writeFile(content)
    await file.sync()
  })
}

/**
 * Writes a file of mode 0644 whole or not at all: under a hidden temporary name, flushed to the disk, then in its place. Without
 * `replace` an existing file is not overwritten either, if the file system has links. Throws EEXIST.
 */
export async function writeWhole(
  folder: string,
  input: { name: string; content: string | Uint8Array; replace: boolean },
): Promise<void> {
  const temporary = join(folder, `.musette-${randomBytes(6).toString('hex')}.tmp`)
  const target = join(folder, input.name)
  try {
    // Others may have to read it, such as the program of a trainer; only the owner may change it.
    await writeFlushed(temporary, input.content, 0o644)
    if (input.replace || !(await linkAnew(temporary, target))) await rename(temporary, target)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

async function linkAnew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw error
    // FAT and some network shares have no links.
    return false
  }
}

export type DurableFile = Awaited<ReturnType<typeof openDurableFile>>

/** The names of files that are not finished, or were left by a process that was killed: the name, then a random id. */
export const UNFINISHED = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/

/** Opens a file of mode 0600 for writing under a temporary name; it gets the name `path` when it is complete on the disk. */
export async function openDurableFile(path: string) {
  const scratch = `${path}.${randomUUID()}.part`
  const file = await open(scratch, 'wx', 0o600)
  return {
    /** Appends bytes; the next ones may follow when it resolves. */
    async write(bytes: Uint8Array): Promise<void> {
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
    },
    /** Flushes the content to the disk and gives the file its name, in place of an older one. */
    async commit(): Promise<void> {
      await file.sync()
      await file.close()
      await renameDurably(scratch, path)
    },
    /** Removes the new file; an older file of the name stays. */
    async abandon(): Promise<void> {
      await file.close().catch(() => undefined)
      await rm(scratch, { force: true })
    },
  }
}

/** Renames a file within its folder so that a power cut does not undo it. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await flushDirectory(dirname(to))
}

/** Flushes the entries of a folder to the disk. Does nothing on Windows, which cannot open a folder and does not need it. */
export async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  await closeAfter(await openFolderToFlush(directory), (folder) => folder.sync())
}

/** Opening neither follows a link nor waits for the other end of a pipe; 0 where a system has no such flag. */
const SAFELY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Opens a plain file in a folder where others may put anything: a pipe would hold one of the few threads for files until somebody
 * writes to it. `flags` and `mode` are those of open(2). Throws ConfigError `not_a_plain_file`, and Node's errors (ELOOP for a link,
 * ENXIO for a pipe without a reader).
 */
export async function openPlainFile(
  path: string | Buffer,
  flags: number = constants.O_RDONLY,
  mode?: number,
): Promise<FileHandle> {
  const file = await open(path, flags | SAFELY, mode)
  const stats = await file.stat().catch(() => undefined)
  if (stats?.isFile()) return file
  await file.close()
  throw new ConfigError('not_a_plain_file', `${String(path)} is not a plain file; remove it`)
}

/** Reads a plain file as openPlainFile opens it. */
export async function readPlainFile(path: string | Buffer): Promise<Buffer> {
  return closeAfter(await openPlainFile(path), (file) => file.readFile())
}

/** Opens a folder to flush its entries; never waits for a pipe in its place. Throws Node's errors (ENOTDIR). */
export function openFolderToFlush(path: string | Buffer): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NONBLOCK ?? 0))
}

/** Takes the place of a file that could not be read: undefined when it does not exist. Throws every other error. */
export function orMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error
}

/** Takes the place of a list of a folder that could not be read: one that does not exist has no names. Throws every other error. */
export function orNone(error: unknown): string[] {
  return orMissing(error) ?? []
}
