import { constants } from 'node:fs'
import { type FileHandle, link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, isDiskFull } from '../kit/errors.ts'
import { openPlainFile, orMissing, writeFlushed } from '../kit/files.ts'
import { lockDescriptor } from '../kit/kernel-lock.ts'
import { describeSelf, type Holder, judgeHolder, readHolder } from './holder.ts'

/** A lock on a data directory, for one process at a time. */
export type Lock = {
  /** the open file that has the lock: a program that inherits it keeps the lock until it ends; undefined without a lock of the kernel */
  fd: number | undefined
  release(): Promise<void>
}

/** `owner` runs the server, `holder` keeps it running for other programs. */
type LockName = 'owner' | 'holder'

const pathOf = (dataDir: string, name: LockName) => join(dataDir, `postgres.${name}`)

/**
 * Acquires a lock on `dataDir`, or returns undefined while another process has it or may have it. The kernel keeps the lock, and frees it when
 * this process and all that have inherited `fd` have ended; the file stays. Where the kernel does not, the process that the file names has
 * the lock while it lives; of one on another boot or in another pid namespace nothing is known, and only `takeOver` takes the lock from it.
 */
export async function acquireLock(
  dataDir: string,
  name: LockName = 'owner',
  { takeOver = false } = {},
): Promise<Lock | undefined> {
  const path = pathOf(dataDir, name)
  for (;;) {
    const file = await openPlainFile(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    let lock: Lock | undefined
    try {
      const attempt = await lockDescriptor(file.fd)
      if (attempt === 'held') return undefined
      const isKernelLock = attempt === 'acquired'
      // 1.1.0 puts another file in its place.
      if ((await file.stat()).ino !== (await stat(path).catch(orMissing))?.ino) continue
      const found = await readHolder(path)
      if (found && !(isKernelLock && found.isKernelLock)) {
        const life = await judgeHolder(found)
        if (life === 'alive' || (life === 'elsewhere' && !takeOver)) return undefined
      }
      const self = await describeSelf(isKernelLock)
      if (!isKernelLock) return await claimFile(path, { self, found })
      await writeHolder(file, self)
      lock = makeKernelLock(file)
      return lock
    } finally {
      if (!lock) await file.close()
    }
  }
}

/** Whether a process has a lock on `dataDir`, or may have it. */
export async function isLocked(dataDir: string, name: LockName = 'owner'): Promise<boolean> {
  const path = pathOf(dataDir, name)
  const file = await openPlainFile(path).catch(orMissing)
  if (!file) return false
  try {
    const attempt = await lockDescriptor(file.fd, '-s')
    if (attempt === 'held') return true
    const found = await readHolder(path)
    if (!found || (attempt === 'acquired' && found.isKernelLock)) return false
    return (await judgeHolder(found)) !== 'dead'
  } finally {
    await file.close()
  }
}

/** Reads who has a lock on `dataDir`, as far as the file of the lock says. */
export async function readLockHolder(dataDir: string, name: LockName = 'owner'): Promise<Holder | undefined> {
  return readHolder(pathOf(dataDir, name))
}

function makeKernelLock(file: FileHandle): Lock {
  return {
    fd: file.fd,
    async release() {
      await file.truncate().catch(() => undefined)
      await file.close()
    },
  }
}

async function writeHolder(file: FileHandle, self: Holder): Promise<void> {
  try {
    await file.truncate()
    await file.write(JSON.stringify(self), 0)
  } catch (error) {
    // The kernel has the lock; the start of the server says that the disk is full.
    if (!isDiskFull(error)) throw error
  }
}

/**
 * Takes the file of a lock from a dead holder without a lock of the kernel: by a link that is named after that one, which one process can
 * make, and which then replaces the file.
 */
async function claimFile(path: string, { self, found }: { self: Holder; found: Holder | undefined }) {
  const next = `${path}.${found?.token ?? 'none'}`
  const scratch = `${path}.${self.token}.new`
  await writeFlushed(scratch, JSON.stringify(self), 0o600)
  try {
    await link(scratch, next)
    // A slow process may have read a holder that has been replaced since.
    if ((await readHolder(path))?.token === found?.token) await rename(next, path).catch(orMissing)
    else await rm(next, { force: true })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    const other = await readHolder(next)
    if (!other || (await judgeHolder(other)) === 'dead') await rm(next, { force: true })
  } finally {
    await rm(scratch, { force: true })
  }
  const isOurs = async () => (await readHolder(path))?.token === self.token
  if (!(await isOurs())) return undefined
  const release = async () => void ((await isOurs()) && (await writeFile(path, '')))
  return { fd: undefined, release }
}
