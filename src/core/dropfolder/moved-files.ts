import { lstat } from 'node:fs/promises'
import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { type Clock, HOUR } from '../../kit/time.ts'
import { moveToFolder } from './move-to-folder.ts'
import { type Found, hasSameContent, identityOf, keyOf } from './walk-folder.ts'

/** A program that writes on in a file that was moved does so soon; a change that comes later is a person's. */
const WATCHED_MS = 1 * HOUR
/** The most remembered files; a large import forgets its first ones. */
const MAX_WATCHED = 2_000

export type MovedFiles = ReturnType<typeof movedFiles>

/** Returns an empty memory of the files that were moved within the last hour. */
export function movedFiles({ log, now }: { log: Logger; now: Clock }) {
  const watched = new Map<string, { found: Found; path: Buffer; inode: number; untilMs: number }>()
  return {
    async add(found: Found, path: Buffer) {
      const stats = await lstat(path).catch(() => undefined)
      if (!stats) return
      watched.set(keyOf(path), { found, path, inode: stats.ino, untilMs: now().getTime() + WATCHED_MS })
      for (const [first] of watched) if (watched.size > MAX_WATCHED) watched.delete(first)
    },
    /** Moves those back that were written to since they were read. Never throws. */
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
