import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ConfigError, errorCode, errorLine, MusetteError } from '../../kit/errors.ts'
import { orMissing } from '../../kit/files.ts'
import { MAX_NAME_BYTES } from '../../kit/folders/file-name.ts'
import { type Folder, openBelow, orExists, orNoLinks } from '../../kit/folders/folder.ts'
import { type Disk, isSecondName, probeDisk } from '../../kit/folders/probe-disk.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { ASIDE, DONE, FAILED, isAside, keyOf, type Steps, type WalkResult } from './walk-folder.ts'

/** A file's name in an open folder. */
type Place = { folder: Folder; name: Buffer }

export type MoveFile = (from: Place, to: Place) => Promise<Buffer | undefined>

/**
 * Returns a function that moves a file into a folder on the same file system, under the given name or the first free numbered one. The
 * function overwrites nothing, even while other processes move files there. It returns the new name, or undefined if the file is gone or
 * another process moved it. Throws Node's errors (EROFS, ENOSPC, EXDEV). Each disk is probed once: without reliable hard links, files are
 * renamed. If no name can be reserved either, throws ConfigError `no_exclusive_names`.
 */
export function makeMover(): MoveFile {
  const disks = new Map<number, Disk>()
  return async (from, to) => {
    const { dev } = await to.folder.stats()
    const disk = disks.get(dev) ?? (await probeDisk(to.folder))
    disks.set(dev, disk)
    if (disk.isExclusive) return disk.hasLinks ? moveByLink(from, to) : moveByRename(from, to)
    const message = `the file system of ${to.folder.path} may overwrite one file with another of the same name; set MUSETTE_AFTER_UPLOAD=keep`
    throw new ConfigError('no_exclusive_names', message)
  }
}

/**
 * Moves a file by a hard link, which, unlike a rename, fails if the name exists. After a crash halfway, both names are the same file, and the
 * next call finishes the move.
 */
async function moveByLink(from: Place, to: Place): Promise<Buffer | undefined> {
  for (let n = 1; ; n++) {
    const target = { folder: to.folder, name: numberedName(to.name, n) }
    try {
      // The system may forbid links to files of another user.
      const isLinked = await from.folder.link(from.name, to.folder, target.name).then(() => true, orNoLinks)
      if (!isLinked) return moveByRename(from, to)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ENOENT') return undefined
      if (code !== 'EEXIST') throw error
      if (!(await isSameFile(from, target))) continue
    }
    return (await removeOldName(from, target, to.name)) ? target.name : undefined
  }
}

/**
 * Removes the old name of a moved file. Renames it to a hidden name first and compares that with the target: a new file that took the old
 * name since the link was made is moved back, so only the second name of the moved file is removed. Returns false if another process removed
 * the old name first, and so moved the file.
 */
async function removeOldName(from: Place, target: Place, name: Buffer): Promise<boolean> {
  const { folder } = target
  const aside = { folder, name: asideName(name) }
  const isRenamed = await from.folder.rename(from.name, folder, aside.name).then(() => true, orMissing)
  // Another daemon on the same folder removed it first.
  if (!isRenamed) return false
  if (await isSameFile(aside, target)) await folder.unlink(aside.name).catch(orMissing)
  else await moveByRename(aside, { folder: from.folder, name })
  return true
}

/**
 * Moves a file without hard links: an empty file reserves the name, and the rename replaces it. Throws MusetteError `move_unfinished` if the
 * rename fails and the empty file cannot be removed, because every retry would leave another empty file.
 */
export async function moveByRename(from: Place, { folder, name }: Place): Promise<Buffer | undefined> {
  for (let n = 1; ; n++) {
    const target = numberedName(name, n)
    const isReserved = await folder.create(target, 0o600).then(async (file) => {
      await file.close()
      return true
    }, orExists)
    if (!isReserved) continue
    try {
      await from.folder.rename(from.name, folder, target)
      return target
    } catch (error) {
      await folder.unlink(target).catch((left: unknown) => {
        const message = `${errorLine(error)}; the empty file ${join(folder.path, target.toString())} cannot be removed (${errorLine(left)})`
        throw new MusetteError('move_unfinished', message, { cause: error })
      })
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }
}

async function isSameFile(one: Place, other: Place): Promise<boolean> {
  const [a, b] = await Promise.all(
    [one, other].map(({ folder, name }) => folder.lstat(name).catch(() => undefined)),
  )
  return isSecondName(a, b)
}

const EXTENSION = /(?:\.fit\.gz|\.[^.]{1,10})$/i

/**
 * Returns the n-th name for a file: the name itself, then `ride (2).fit`, `ride (3).fit`. Works on bytes. If the name would exceed 255 bytes,
 * shortens the stem between two characters.
 */
function numberedName(name: Buffer, n: number): Buffer {
  if (n === 1) return name
  const extension = EXTENSION.exec(name.toString('latin1'))?.[0] ?? ''
  const stem = name.subarray(0, name.length - extension.length)
  return withEnding(stem, ` (${n})${extension}`)
}

/** Returns the name of the text beside a failed file: `ride.fit.txt`. */
export function textName(name: Buffer): Buffer {
  return withEnding(name, '.txt')
}

/** Position of a file's own name in its hidden name: after the prefix, 16 hex digits and a dash. */
const ASIDE_NAME_AT = ASIDE.length + 17

/** Returns a unique hidden name for the old name of a moved file. It ends in the file's own name if that fits. */
function asideName(name: Buffer): Buffer {
  const mark = Buffer.from(`${ASIDE}${randomBytes(8).toString('hex')}`)
  const whole = Buffer.concat([mark, Buffer.from('-'), name])
  return whole.length <= MAX_NAME_BYTES ? whole : mark
}

function withEnding(stem: Buffer, ending: string): Buffer {
  const end = Buffer.from(ending, 'latin1')
  let length = Math.min(stem.length, MAX_NAME_BYTES - end.length)
  // The first byte cut off must start a UTF-8 character, not continue one.
  if (length < stem.length) while (length > 0 && ((stem[length] ?? 0) & 0xc0) === 0x80) length -= 1
  return Buffer.concat([stem.subarray(0, length), end])
}

/** Name of a recovered file whose own name did not fit into the hidden name. */
const UNNAMED = Buffer.from('recovered.fit')

/**
 * Returns a function that finishes moves which a killed process left halfway. It checks each account's `done/` and `failed/` once, and every
 * scanned folder that contains a hidden name. It never throws.
 */
export function moveRecovery({ log, move }: { log: Logger; move: MoveFile }, root: string) {
  const recovered = new Set<string>()
  return async ({ homes, interrupted }: Pick<WalkResult, 'homes' | 'interrupted'>) => {
    const fresh = homes.filter((home) => !recovered.has(keyOf(home)))
    for (const home of fresh) recovered.add(keyOf(home))
    try {
      let finished = 0
      for (const home of fresh) finished += await recoverMoves(move, root, home)
      for (const { folder, home } of interrupted) finished += await recoverMovesIn(move, root, folder, home)
      if (finished > 0) log.info({ files: finished }, 'drop folder: finished interrupted moves')
    } catch (error) {
      log.warn({ reason: errorLine(error) }, 'drop folder: cannot finish interrupted moves')
    }
  }
}

/**
 * Finishes the moves in `done/` and `failed/` below `home`. Removes a hidden name if the file has a second name beside it; otherwise moves
 * the file back into `home`, to be imported again. Returns the number of files.
 */
async function recoverMoves(move: MoveFile, root: string, home: Steps): Promise<number> {
  const done = [...home, Buffer.from(DONE)]
  const months = (await readFolder(root, done)).filter((entry) => entry.isDirectory())
  let finished = await recoverMovesIn(move, root, [...home, Buffer.from(FAILED)], home)
  for (const { name } of months) finished += await recoverMovesIn(move, root, [...done, name], home)
  return finished
}

async function recoverMovesIn(move: MoveFile, root: string, steps: Steps, home: Steps): Promise<number> {
  const entries = await readFolder(root, steps)
  const left = entries.filter((entry) => entry.isFile() && isAside(entry.name))
  if (left.length === 0) return 0
  const moved = entries.filter((entry) => entry.isFile() && !isAside(entry.name))
  return closeAfter(await openBelow(root, steps), async (folder) => {
    for (const { name } of left) {
      const aside = { folder, name }
      // The file's own name, if the hidden name contains it.
      const own = name.length > ASIDE_NAME_AT ? name.subarray(ASIDE_NAME_AT) : UNNAMED
      if (await hasSecondName(aside, moved)) await folder.unlink(name).catch(orMissing)
      else await closeAfter(await openBelow(root, home), (to) => move(aside, { folder: to, name: own }))
    }
    return left.length
  })
}

async function hasSecondName(file: Place, others: readonly Dirent<Buffer>[]) {
  const { folder } = file
  // The link count answers this without comparing thousands of files.
  const stats = await folder.lstat(file.name).catch(() => undefined)
  if (!stats || stats.nlink < 2) return false
  for (const { name } of others) if (await isSameFile(file, { folder, name })) return true
  return false
}

/** Lists a folder; returns an empty list if it does not exist or is a link. */
async function readFolder(root: string, steps: Steps): Promise<Dirent<Buffer>[]> {
  try {
    return await closeAfter(await openBelow(root, steps), (folder) => folder.list())
  } catch (error) {
    if (['ENOENT', 'not_a_folder'].includes(errorCode(error))) return []
    throw error
  }
}
