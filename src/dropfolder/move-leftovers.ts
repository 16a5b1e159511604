import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import type { Logger } from 'pino'
import { errorCode, errorLine } from '../kit/errors.ts'
import { isSameFile, nameOfAside, placeFile, removeFile } from './move-target.ts'
import { DONE, FAILED, isAside, joinPath, keyOf, type Walked } from './walk.ts'

/** For a file whose name was too long to be kept. */
const UNNAMED = Buffer.from('recovered.fit')

/** Makes what finishes moves that were left halfway: once below each home, and in every scanned folder that shows one. */
export function makeFinisher(log: Logger): (walked: Pick<Walked, 'homes' | 'halfway'>) => Promise<void> {
  const looked = new Set<string>()
  return async ({ homes, halfway }) => {
    const fresh = homes.filter((home) => !looked.has(keyOf(home)))
    for (const home of fresh) looked.add(keyOf(home))
    try {
      let finished = 0
      for (const home of fresh) finished += await finishMoves(home)
      for (const { folder, home } of halfway) finished += await finishMovesIn(folder, home)
      if (finished > 0)
        log.info({ files: finished }, 'drop folder: moves that were left halfway are finished')
    } catch (error) {
      log.warn({ reason: errorLine(error) }, 'drop folder: moves that were left halfway cannot be finished')
    }
  }
}

/**
 * Finishes the moves that a killed process left halfway in the folders of finished files below `home`. What was set
 * aside and has a second name beside it is removed; what has none goes back into `home`, to be taken again. Returns how
 * many files that were. Throws Node's errors.
 */
async function finishMoves(home: Buffer): Promise<number> {
  const done = joinPath(home, DONE)
  const months = (await listFolder(done)).filter((entry) => entry.isDirectory())
  const folders = [joinPath(home, FAILED), ...months.map(({ name }) => joinPath(done, name))]
  let finished = 0
  for (const folder of folders) finished += await finishMovesIn(folder, home)
  return finished
}

/** The same in one folder. */
async function finishMovesIn(folder: Buffer, home: Buffer): Promise<number> {
  const entries = await listFolder(folder)
  const moved = entries.filter((entry) => entry.isFile() && !isAside(entry.name))
  let finished = 0
  for (const entry of entries) {
    if (!entry.isFile() || !isAside(entry.name)) continue
    const aside = joinPath(folder, entry.name)
    if (await hasSecondName(aside, folder, moved)) await removeFile(aside)
    else await placeFile(aside, home, nameOfAside(entry.name) ?? UNNAMED)
    finished += 1
  }
  return finished
}

async function hasSecondName(
  path: Buffer,
  folder: Buffer,
  others: readonly Dirent<Buffer>[],
): Promise<boolean> {
  // A file with one name has no second one, however many files lie beside it.
  const stats = await lstat(path).catch(() => undefined)
  if (!stats || stats.nlink < 2) return false
  for (const { name } of others) if (await isSameFile(path, joinPath(folder, name))) return true
  return false
}

/** The entries of a folder; none of one that is not there or is a link. */
async function listFolder(folder: Buffer): Promise<Dirent<Buffer>[]> {
  try {
    if (!(await lstat(folder)).isDirectory()) return []
    return await readdir(folder, { withFileTypes: true, encoding: 'buffer' })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}
