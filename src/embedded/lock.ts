import * as fs from 'node:fs'
import { link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, isDiskFull } from '../kit/errors.ts'
import { orMissing, writeFlushed } from '../kit/files.ts'
import { lockDescriptor } from '../kit/folders/kernel-lock.ts'
import { describeSelf, type Holder, readHolder, type Self } from './holder.ts'

/** A lock on a data directory, for one process at a time. */
export type Lock = {
  /** the open file that has the lock: a program that inherits it keeps the lock until it ends; undefined without a lock of the kernel */
  fd: number | undefined
  release(): Promise<void>
}

/** `owner` runs the server, `holder` keeps it running for other programs. */
type LockName = 'owner' | 'holder'

// Node closes a FileHandle that nothing refers to, and with it would go the lock.
const open = promisify(fs.open)
const close = promisify(fs.close)
const SAFELY = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)

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
    const fd = await open(path, fs.constants.O_RDWR | fs.constants.O_CREAT | SAFELY, 0o600)
    let lock: Lock | undefined
    try {
      const { isKernelLock, found, life } = await tryLock(fd, path, '-x')
      if (life === 'alive' || (life === 'elsewhere' && !takeOver)) return undefined
      // 1.1.0 puts another file in its place.
      if ((await promisify(fs.fstat)(fd)).ino !== (await stat(path).catch(orMissing))?.ino) continue
      const self = await describeSelf(isKernelLock)
      if (!isKernelLock) return await claimFile(path, { self, found })
      await writeHolder(fd, self)
      lock = makeKernelLock(fd)
      return lock
    } finally {
      if (!lock) await close(fd)
    }
  }
}

/** Whether a process has a lock on `dataDir`, or may have it. */
export async function isLocked(dataDir: string, name: LockName = 'owner'): Promise<boolean> {
  const path = pathOf(dataDir, name)
  const fd = await open(path, fs.constants.O_RDONLY | SAFELY).catch(orMissing)
  if (fd === undefined) return false
  try {
    return (await tryLock(fd, path, '-s')).life !== 'dead'
  } finally {
    await close(fd)
  }
}

/** Tries once to lock the file of a lock, and tells whether another process has it: the kernel knows, else what the file says counts. */
async function tryLock(fd: number, path: string, mode: '-x' | '-s') {
  const attempt = await lockDescriptor(fd, mode)
  const found = await readHolder(path)
  const isKernelLock = attempt === 'acquired'
  const isFree = !found || (isKernelLock && found.isKernelLock)
  const life = attempt === 'held' ? 'alive' : isFree ? 'dead' : found.life
  return { isKernelLock, found, life }
}

/** Reads who has a lock on `dataDir`, as far as the file of the lock says. */
export async function readLockHolder(dataDir: string, name: LockName = 'owner'): Promise<Holder | undefined> {
  return readHolder(pathOf(dataDir, name))
}

function makeKernelLock(fd: number): Lock {
  return {
    fd,
    async release() {
      await promisify(fs.ftruncate)(fd).catch(() => undefined)
      await close(fd)
    },
  }
}

async function writeHolder(fd: number, self: Self): Promise<void> {
  try {
    await promisify(fs.ftruncate)(fd)
    await promisify(fs.write)(fd, Buffer.from(JSON.stringify(self)), 0, undefined, 0)
  } catch (error) {
    // The kernel has the lock; the start of the server says that the disk is full.
    if (!isDiskFull(error)) throw error
  }
}

/**
 * Takes the file of a lock from a dead holder without a lock of the kernel: by a link that is named after that one, which one process can
 * make, and which then replaces the file.
 */
async function claimFile(path: string, { self, found }: { self: Self; found: Holder | undefined }) {
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
    if (!other || other.life === 'dead') await rm(next, { force: true })
  } finally {
    await rm(scratch, { force: true })
  }
  const isOurs = async () => (await readHolder(path))?.token === self.token
  if (!(await isOurs())) return undefined
  const release = async () => void ((await isOurs()) && (await writeFile(path, '')))
  return { fd: undefined, release }
}
