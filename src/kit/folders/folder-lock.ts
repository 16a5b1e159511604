import { orMissing } from '../files.ts'
import { type Folder, openFolder } from './folder.ts'

/** Makes the lock of a folder, which one process at a time has, whatever database it uses. The kernel frees the lock when the process ends. */
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
    /** Acquires the lock; true also where no lock of the kernel exists, and for a folder that is gone. Throws Node's other errors. */
    async acquire(): Promise<boolean> {
      const folder = await openFolder(dir).catch(orMissing)
      // Another folder may have taken the place of the locked one.
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
