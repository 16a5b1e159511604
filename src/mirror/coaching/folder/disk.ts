import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const TEMPORARY = /^\.musette-[0-9a-f]{12}\.tmp$/

/** What lies under a name: nothing, a plain file with the SHA-256 of its content, or something else. */
export type Found = { kind: 'nothing' } | { kind: 'file'; sha256: string } | { kind: 'other' }

/** Looks at what lies under a name; links are not followed. */
export async function readFound(path: string): Promise<Found> {
  try {
    const stats = await lstat(path)
    if (!stats.isFile()) return { kind: 'other' }
    const content = await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW })
    return { kind: 'file', sha256: createHash('sha256').update(content).digest('hex') }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { kind: 'nothing' }
    throw error
  }
}

/**
 * Writes a file whole or not at all: beside it, flushed to the disk, then put in its place. Where nothing stood nothing
 * is overwritten either, if the file system can promise that.
 */
export async function writeWhole(
  folder: string,
  input: { name: string; content: string; replace: boolean },
): Promise<void> {
  const temporary = join(folder, `.musette-${randomBytes(6).toString('hex')}.tmp`)
  const target = join(folder, input.name)
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(input.content)
      await file.sync()
    } finally {
      await file.close()
    }
    if (input.replace || !(await linkAnew(temporary, target))) await rename(temporary, target)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

/** Makes the folder's own entries durable, where the file system has a notion of it. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** Removes what a crash in the middle of `writeWhole` left behind. */
export async function removeTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (TEMPORARY.test(name)) await unlink(join(folder, name))
}

/** The code of an error of the file system; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem ? String(error.code) : undefined
}

async function linkAnew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw error
    // FAT and some network shares have no links.
    return false
  }
}
