import * as fs from 'node:fs'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { lockDescriptor } from './kernel-lock.ts'

const FOLDER = fs.constants.O_RDONLY | (fs.constants.O_DIRECTORY ?? 0)

/** Makes the lock of a folder, which one process at a time has, whatever database it uses. The kernel frees the lock when the process ends. */
export function makeFolderLock(dir: string) {
  let held: { fd: number; stats: fs.Stats } | undefined

  async function release(): Promise<void> {
    const { fd } = held ?? {}
    held = undefined
    if (fd !== undefined) await promisify(fs.close)(fd)
  }

  return {
    /** Acquires the lock; true also where no lock of the kernel exists. Throws Node's errors of the disk. */
    async acquire(): Promise<boolean> {
      const { ino, dev } = await stat(dir)
      if (held?.stats.ino === ino && held.stats.dev === dev) return true
      await release()
      const fd = await promisify(fs.open)(dir, FOLDER)
      const stats = await promisify(fs.fstat)(fd)
      held = { fd, stats }
      const attempt = await lockDescriptor(fd)
      if (attempt === 'held') await release()
      return attempt !== 'held'
    },
    release,
  }
}
