import { lstat } from 'node:fs/promises'
import type { Logger } from 'pino'
import { errorLine } from '../kit/errors.ts'
import { type Clock, HOUR } from '../kit/time.ts'
import { moveToFolder } from './move-to-folder.ts'
import { type Found, hasSameContent, identityOf, keyOf } from './walk-folder.ts'

/** A program that writes on in a file that was moved does so soon; a change that comes later is a person's. */
const WATCHED_MS = 1 * HOUR
/** Of an import of years no more files are remembered: those that were moved last. */
const MAX_WATCHED = 2_000

/** Remembers the files that were moved within the last hour, and moves those back that were written to since they were read. */
export type MovedFiles = {
  add(found: Found, path: Buffer): Promise<void>
  /** Never throws. */
  moveChangedBack(): Promise<void>
}

/** Makes an empty memory of moved files. */
export function makeMovedFiles({ log, now }: { log: Logger; now: Clock }): MovedFiles {
  const watched = new Map<string, { found: Found; path: Buffer; inode: number; untilMs: number }>()
  return {
    async add(found, path) {
      const stats = await lstat(path).catch(() => undefined)
      if (!stats) return
      watched.set(keyOf(path), { found, path, inode: stats.ino, untilMs: now().getTime() + WATCHED_MS })
      for (const [first] of watched) if (watched.size > MAX_WATCHED) watched.delete(first)
    },
    async moveChangedBack() {
      for (const [key, { found, path, inode, untilMs }] of watched) {
        const stats = await lstat(path).catch(() => undefined)
        // Another file under this name may be reached by a link that leads out of the folder.
        const isOver = stats?.ino !== inode || untilMs <= now().getTime()
        if (!isOver && hasSameContent(found.identity, identityOf(stats))) continue
        watched.delete(key)
        if (isOver) continue
        const file = found.relativePath
        const sentence = `${file} was written to after it was imported, as ${path.toString()}`
        const back = await moveToFolder(path, found.home, found.rawName).catch(errorLine)
        if (typeof back === 'string') log.error({ file }, `${sentence}; it cannot be moved back (${back})`)
        else log.warn({ file }, `${sentence}; it is back in the folder`)
      }
    },
  }
}
