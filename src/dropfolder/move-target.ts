import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, lstat, open, rename, unlink } from 'node:fs/promises'
import { errorCode } from '../kit/errors.ts'
import { ASIDE, folderOf, joinPath } from './walk.ts'

/** File systems without hard links, and files of somebody else on systems that protect them from being linked. */
const NO_LINKS: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EINVAL',
  'EACCES',
])

/**
 * Moves a file into a folder of the same file system under its name, or the first numbered one that is free. Nothing is
 * ever overwritten, whoever else moves files there at the same moment: a hard link refuses a name that is taken, which a
 * rename does not. Returns the new path, or undefined when the file is gone. After a crash in the middle both names are
 * the same file, and the next call finishes. Throws Node's errors (EROFS, ENOSPC, EXDEV).
 */
export async function placeFile(path: Buffer, folder: Buffer, name: Buffer): Promise<Buffer | undefined> {
  for (let n = 1; ; n++) {
    const target = joinPath(folder, numberedName(name, n))
    try {
      await link(path, target)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ENOENT') return undefined
      if (code === 'EEXIST') {
        if (!(await isSameFile(path, target))) continue
      } else if (NO_LINKS.has(code)) {
        return placeByRename(path, folder, name)
      } else {
        throw error
      }
    }
    await dropOldName(path, { folder, target, name })
    return target
  }
}

/**
 * Takes the old name away. What lies there is first set aside and looked at: should a new file have been put in its
 * place since the link was made, it goes back, and only a second name of the file that was moved is removed.
 */
async function dropOldName(
  path: Buffer,
  moved: { folder: Buffer; target: Buffer; name: Buffer },
): Promise<void> {
  const aside = joinPath(moved.folder, asideName(moved.name))
  try {
    await rename(path, aside)
  } catch (error) {
    // Another daemon on the same folder was faster, with the same result.
    if (errorCode(error) === 'ENOENT') return
    throw error
  }
  if (await isSameFile(aside, moved.target)) await removeFile(aside)
  else await placeFile(aside, folderOf(path), moved.name)
}

/** Moves as placeFile does where links cannot be made: an empty file reserves the name, and the rename replaces that. */
export async function placeByRename(path: Buffer, folder: Buffer, name: Buffer): Promise<Buffer | undefined> {
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

/** Removes a file that somebody else may have removed meanwhile. */
export async function removeFile(path: Buffer): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
  })
}

/** Whether two paths are names of one file. */
export async function isSameFile(one: Buffer, other: Buffer): Promise<boolean> {
  const [a, b] = await Promise.all([look(one), look(other)])
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

async function look(path: Buffer): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}

/** What the usual file systems take for one name, in bytes. */
const MAX_NAME_BYTES = 255
const EXTENSION = /(?:\.fit\.gz|\.[^.]{1,10})$/i

/**
 * Makes the n-th name for a file: the name itself, then `ride (2).fit`, `ride (3).fit`. Bytes in, bytes out; the stem is
 * cut, between characters, where the whole would be longer than 255 bytes.
 */
export function numberedName(name: Buffer, n: number): Buffer {
  if (n === 1) return name
  const extension = EXTENSION.exec(name.toString('latin1'))?.[0] ?? ''
  const stem = name.subarray(0, name.length - extension.length)
  return withEnding(stem, ` (${n})${extension}`)
}

/** Makes the name of the text beside a failed file: `ride.fit.txt`. */
export function textName(name: Buffer): Buffer {
  return withEnding(name, '.txt')
}

/** Where the name of a file begins that was set aside: after the mark, 16 digits and a dash. */
const ASIDE_NAME_AT = ASIDE.length + 17

/** Makes a hidden name, like no other, under which the old name of a moved file is set aside; it tells the name where there is room. */
export function asideName(name: Buffer): Buffer {
  const mark = Buffer.from(`${ASIDE}${randomBytes(8).toString('hex')}`)
  const whole = Buffer.concat([mark, Buffer.from('-'), name])
  return whole.length <= MAX_NAME_BYTES ? whole : mark
}

/** The name of a file that was set aside; undefined where there was no room for it. */
export function nameOfAside(aside: Buffer): Buffer | undefined {
  return aside.length > ASIDE_NAME_AT ? aside.subarray(ASIDE_NAME_AT) : undefined
}

function withEnding(stem: Buffer, ending: string): Buffer {
  const end = Buffer.from(ending, 'latin1')
  let length = Math.min(stem.length, MAX_NAME_BYTES - end.length)
  // A byte that continues a UTF-8 character must not be the first one cut off.
  if (length < stem.length) while (length > 0 && ((stem[length] ?? 0) & 0xc0) === 0x80) length -= 1
  return Buffer.concat([stem.subarray(0, length), end])
}
