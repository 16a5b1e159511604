import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { link, lstat, open, readdir, rename, unlink } from 'node:fs/promises'
import type { Logger } from 'pino'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { orMissing } from '../../kit/files.ts'
import { ASIDE, DONE, FAILED, folderOf, isAside, joinPath, keyOf, type WalkResult } from './walk-folder.ts'

/** Error codes of file systems without hard links, and of systems that forbid links to files of another user. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL', 'EACCES']

/**
 * Moves a file into a folder of the same file system under its name, or under the first numbered name that is free.
 * Nothing is overwritten, even while other processes move files there: creating a hard link fails when the name exists,
 * which a rename does not. Returns the new path, or undefined when the file is gone or another process has moved it.
 * After a crash in the middle both names are the same file, and the next call finishes the move. Throws Node's errors (EROFS, ENOSPC, EXDEV).
 */
export async function moveToFolder(path: Buffer, folder: Buffer, name: Buffer): Promise<Buffer | undefined> {
  for (let n = 1; ; n++) {
    const target = joinPath(folder, numberedName(name, n))
    try {
      await link(path, target)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ENOENT') return undefined
      if (code === 'EEXIST') {
        if (!(await isSameFile(path, target))) continue
      } else if (NO_LINKS.includes(code)) return moveByRename(path, folder, name)
      else throw error
    }
    return (await removeOldName(path, { folder, target, name })) ? target : undefined
  }
}

/**
 * Removes the old name of a moved file. It is first renamed to a hidden name and compared with the target: a new file
 * that was put in its place since the link was made is moved back, so that only the second name of the moved file is
 * removed. Returns false when another process has removed the old name first; that one has moved the file.
 */
async function removeOldName(path: Buffer, moved: { folder: Buffer; target: Buffer; name: Buffer }) {
  const aside = joinPath(moved.folder, asideName(moved.name))
  const isRenamed = await rename(path, aside).then(() => true, orMissing)
  // Another daemon on the same folder removed it first.
  if (!isRenamed) return false
  if (await isSameFile(aside, moved.target)) await unlink(aside).catch(orMissing)
  else await moveToFolder(aside, folderOf(path), moved.name)
  return true
}

/** Moves like moveToFolder on file systems without hard links: an empty file reserves the name, and the rename replaces it. */
export async function moveByRename(path: Buffer, folder: Buffer, name: Buffer): Promise<Buffer | undefined> {
  for (let n = 1; ; n++) {
    const target = joinPath(folder, numberedName(name, n))
    try {
      await (await open(target, 'wx')).close()
    } catch (error) {
      if (errorCode(error) === 'EEXIST') continue
      throw error
    }
    try {
      await rename(path, target)
      return target
    } catch (error) {
      await unlink(target)
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }
}

async function isSameFile(one: Buffer, other: Buffer): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => lstat(path).catch(() => undefined)))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

/** The longest name that common file systems allow, bytes. */
const MAX_NAME_BYTES = 255
const EXTENSION = /(?:\.fit\.gz|\.[^.]{1,10})$/i

/**
 * Makes the n-th name for a file: the name itself, then `ride (2).fit`, `ride (3).fit`. Bytes in, bytes out; the stem is
 * cut, between characters, when the whole name would be longer than 255 bytes.
 */
function numberedName(name: Buffer, n: number): Buffer {
  if (n === 1) return name
  const extension = EXTENSION.exec(name.toString('latin1'))?.[0] ?? ''
  const stem = name.subarray(0, name.length - extension.length)
  return withEnding(stem, ` (${n})${extension}`)
}

/** Makes the name of the text of a failed file: `ride.fit.txt`. */
export function textName(name: Buffer): Buffer {
  return withEnding(name, '.txt')
}

/** The position of a file's own name in its hidden name: after the prefix, 16 digits and a dash. */
const ASIDE_NAME_AT = ASIDE.length + 17

/** Makes a unique hidden name for the old name of a moved file; it ends in the file's own name where there is room. */
function asideName(name: Buffer): Buffer {
  const mark = Buffer.from(`${ASIDE}${randomBytes(8).toString('hex')}`)
  const whole = Buffer.concat([mark, Buffer.from('-'), name])
  return whole.length <= MAX_NAME_BYTES ? whole : mark
}

function withEnding(stem: Buffer, ending: string): Buffer {
  const end = Buffer.from(ending, 'latin1')
  let length = Math.min(stem.length, MAX_NAME_BYTES - end.length)
  // A byte that continues a UTF-8 character must not be the first one cut off.
  if (length < stem.length) while (length > 0 && ((stem[length] ?? 0) & 0xc0) === 0x80) length -= 1
  return Buffer.concat([stem.subarray(0, length), end])
}

/** The name of a file that was too long for a hidden one. */
const UNNAMED = Buffer.from('recovered.fit')

/**
 * Makes the recovery of moves that a killed process left unfinished. The returned function looks into `done/` and
 * `failed/` of each account's folder once, and into every scanned folder in which a hidden name was seen. Never throws.
 */
export function moveRecovery(log: Logger) {
  const recovered = new Set<string>()
  return async ({ homes, interrupted }: Pick<WalkResult, 'homes' | 'interrupted'>) => {
    const fresh = homes.filter((home) => !recovered.has(keyOf(home)))
    for (const home of fresh) recovered.add(keyOf(home))
    try {
      let finished = 0
      for (const home of fresh) finished += await recoverMoves(home)
      for (const { folder, home } of interrupted) finished += await recoverMovesIn(folder, home)
      if (finished > 0)
        log.info({ files: finished }, 'drop folder: moves that were left halfway are finished')
    } catch (error) {
      log.warn({ reason: errorLine(error) }, 'drop folder: moves that were left halfway cannot be finished')
    }
  }
}

/**
 * Finishes the moves in `done/` and `failed/` below `home`. A hidden name is removed when the file has a second name beside it; else the
 * file is moved back into `home`, to be imported again. Returns the number of files.
 */
async function recoverMoves(home: Buffer): Promise<number> {
  const done = joinPath(home, DONE)
  const months = (await readFolder(done)).filter((entry) => entry.isDirectory())
  const folders = [joinPath(home, FAILED), ...months.map(({ name }) => joinPath(done, name))]
  let finished = 0
  for (const folder of folders) finished += await recoverMovesIn(folder, home)
  return finished
}

async function recoverMovesIn(folder: Buffer, home: Buffer): Promise<number> {
  const entries = await readFolder(folder)
  const moved = entries.filter((entry) => entry.isFile() && !isAside(entry.name))
  let finished = 0
  for (const entry of entries) {
    if (!entry.isFile() || !isAside(entry.name)) continue
    const aside = joinPath(folder, entry.name)
    // The file's own name, where there was room for it.
    const name = entry.name.length > ASIDE_NAME_AT ? entry.name.subarray(ASIDE_NAME_AT) : UNNAMED
    if (await hasSecondName(aside, folder, moved)) await unlink(aside).catch(orMissing)
    else await moveToFolder(aside, home, name)
    finished += 1
  }
  return finished
}

async function hasSecondName(path: Buffer, folder: Buffer, others: readonly Dirent<Buffer>[]) {
  // The number of links answers this without comparing thousands of files.
  const stats = await lstat(path).catch(() => undefined)
  if (!stats || stats.nlink < 2) return false
  for (const { name } of others) if (await isSameFile(path, joinPath(folder, name))) return true
  return false
}

/** Reads the entries of a folder; none when it does not exist or is a link. */
async function readFolder(folder: Buffer): Promise<Dirent<Buffer>[]> {
  const stats = await lstat(folder).catch(orMissing)
  if (!stats?.isDirectory()) return []
  return readdir(folder, { withFileTypes: true, encoding: 'buffer' }).catch((error) => orMissing(error) ?? [])
}
