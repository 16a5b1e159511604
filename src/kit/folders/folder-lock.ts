import { closeAfter } from '../release-stack.ts'
import { type Folder, openFolder } from './folder.ts'

/** Makes the lock of a folder, which one process at a time has, whatever database it uses. The kernel frees the lock when the process ends. */
export function makeFolderLock(dir: string) {
  let held: Folder | undefined

  async function release(): Promise<void> {
    const folder = held
    held = undefined
    await folder?.close()
  }

  /** Another folder may have taken the place of the locked one. */
  async function isHeld(): Promise<boolean> {
    if (!held) return false
    const now = await closeAfter(await openFolder(dir), (folder) => folder.stats())
    const { ino, dev } = await held.stats()
    return now.ino === ino && now.dev === dev
  }

  return {
    /** Acquires the lock; true also where no lock of the kernel exists. Throws Node's errors of the disk. */
    async acquire(): Promise<boolean> {
      if (await isHeld()) return true
      await release()
      const folder = await openFolder(dir)
      if ((await folder.lock()) === 'held') {
        await folder.close()
        return false
      }
      held = folder
      return true
    },
    release,
  }
}
