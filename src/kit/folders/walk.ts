import type { Dirent, Stats } from 'node:fs'
import { errorCode } from '../errors.ts'
import { closeAfter } from '../release-stack.ts'
import type { Folder } from './folder.ts'

/** The names that lead from the top folder of a walk to a folder in it. */
export type Steps = readonly Buffer[]

/** An open folder on a walk, with its entries. */
export type Walked = { folder: Folder; steps: Steps; entries: readonly Dirent<Buffer>[] }

/**
 * Walks a folder and its subfolders. `visit` gets each folder with its entries and returns the names of the subfolders to enter. Returns the
 * folders that cannot be read; unreadable folders do not stop the walk. Skips a folder that is gone. Keeps one folder open per level. Throws
 * if the top folder cannot be read, and passes on errors of `visit`.
 */
export async function walkFolders(
  top: Folder,
  visit: (walked: Walked) => Promise<readonly Buffer[]>,
): Promise<Array<{ steps: Steps; error: unknown }>> {
  const unreadable: Array<{ steps: Steps; error: unknown }> = []
  await enter({ folder: top, steps: [], entries: await top.list() })
  return unreadable

  async function enter(walked: Walked): Promise<void> {
    for (const name of await visit(walked)) {
      const steps = [...walked.steps, name]
      const note = (error: unknown) => {
        // The folder may have been deleted since it was listed.
        if (errorCode(error) !== 'ENOENT') unreadable.push({ steps, error })
      }
      const folder = await walked.folder.openInner(name).catch(note)
      if (!folder) continue
      await closeAfter(folder, async () => {
        const entries = await folder.list().catch(note)
        if (entries) await enter({ folder, steps, entries })
      })
    }
  }
}

/** Returns what an entry is that is neither a file nor a folder, such as `a link`; undefined for files and folders. */
export function oddKindOf(entry: Dirent<Buffer> | Stats): string | undefined {
  if (entry.isSymbolicLink()) return 'a link'
  if (entry.isFIFO()) return 'a pipe'
  if (entry.isSocket()) return 'a socket'
  return entry.isCharacterDevice() || entry.isBlockDevice() ? 'a device' : undefined
}
