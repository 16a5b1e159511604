import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { type Folder, openBelow } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { type Clock, HOUR } from '../../kit/time.ts'
import type { MoveFile } from './move-to-folder.ts'
import { type Found, hasSameContent, identityOf, keyOf, type Steps } from './walk-folder.ts'

/** How long moved files are watched for late writes. A program that is still writing changes the file soon; a later change is a person's. */
const WATCHED_MS = 1 * HOUR
/** Maximum number of watched files; a large import forgets the oldest first. */
const MAX_WATCHED = 2_000

/** The new place of a moved file; `path` is for people. */
export type MovedTo = { folder: Steps; name: Buffer; path: string }

type Watched = { found: Found; to: MovedTo; inode: number; untilMs: number }

export type MovedFiles = ReturnType<typeof movedFiles>

/** Watches the files moved within the last hour, so that late writes are not lost. */
export function movedFiles({ log, now, move }: { log: Logger; now: Clock; move: MoveFile }) {
  const watched = new Map<string, Watched>()

  async function moveBackFrom(folder: Folder, files: readonly Watched[]): Promise<void> {
    for (const { found, to, inode, untilMs } of files) {
      const { root, home, rawName, relativePath: file } = found
      const stats = await folder.lstat(to.name).catch(() => undefined)
      // Another file may have this name by now.
      const isOver = stats?.ino !== inode || untilMs <= now().getTime()
      if (!isOver && hasSameContent(found.identity, identityOf(stats))) continue
      watched.delete(to.path)
      if (isOver) continue
      const sentence = `${file} was written to after its import, as ${to.path}`
      const from = { folder, name: to.name }
      const back = await openBelow(root, home)
        .then((opened) => closeAfter(opened, (to) => move(from, { folder: to, name: rawName })))
        .catch(errorLine)
      if (typeof back === 'string') log.error({ file }, `${sentence}; cannot move it back (${back})`)
      else log.warn({ file }, `${sentence}; moved it back into the folder`)
    }
  }

  return {
    add(found: Found, to: MovedTo, inode: number) {
      watched.set(to.path, { found, to, inode, untilMs: now().getTime() + WATCHED_MS })
      for (const [first] of watched) if (watched.size > MAX_WATCHED) watched.delete(first)
    },
    /** Moves files back if they were written to after they were read. Never throws. */
    async moveChangedBack() {
      const folders = new Map<string, Watched[]>()
      for (const each of watched.values()) {
        const key = keyOf(each.to.folder)
        folders.set(key, [...(folders.get(key) ?? []), each])
      }
      for (const files of folders.values()) {
        const { found, to } = files[0] as Watched
        const folder = await openBelow(found.root, to.folder).catch(() => undefined)
        if (folder) await closeAfter(folder, (opened) => moveBackFrom(opened, files))
        else for (const each of files) watched.delete(each.to.path)
      }
    },
  }
}
