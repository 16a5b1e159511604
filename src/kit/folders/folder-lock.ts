import { orMissing } from '../files.ts'
import { type Folder, openFolder } from './folder.ts'

/** Makes a folder's lock: one process at a time holds it, regardless of its database. The kernel frees it when the process exits. */
export function makeFolderLock(dir: string) {
  let held: Folder | undefined

  async function release(): Promise<void> {
    const folder = held
    held = undefined
    await folder?.close()
  }

  async function isHeld(folder: Folder): Promise<boolean> {
    const [own, now] = [await held?.stats(), await folder.stats()]
    return own?.ino === now.ino && own.dev === now.dev
  }

  return {
    /** Acquires the lock. Also returns true if the system has no kernel locks or the folder is gone. Throws Node's other errors. */
    async acquire(): Promise<boolean> {
      const folder = await openFolder(dir).catch(orMissing)
      // Another folder may have replaced the locked one.
      const isSame = folder !== undefined && (await isHeld(folder))
      if (!isSame) await release()
      const isTaken = !isSame && (await folder?.lock()) === 'held'
      if (isSame || isTaken) await folder?.close()
      else held = folder
      return !isTaken
    },
    release,
  }
}
