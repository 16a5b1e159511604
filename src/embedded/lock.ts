import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { link, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, isDiskFull } from '../kit/errors.ts'
import { orMissing, readPlainFile, writeFlushed } from '../kit/files.ts'
import { lockDescriptor } from '../kit/folders/kernel-lock.ts'
import { parseIfJson } from '../kit/json.ts'
import { readBoot, readProcess } from './processes.ts'

/** A lock on a data directory, for one process at a time. */
export type Lock = {
  /** the open file with the lock; a program that inherits the file keeps the lock until the program ends. Undefined without a kernel lock */
  fd: number | undefined
  release(): Promise<void>
}

/** `owner` runs the server; `holder` keeps it running for other programs. */
type LockName = 'owner' | 'holder'

// Node closes a FileHandle that is no longer referenced, which would release the lock.
const open = promisify(fs.open)
const close = promisify(fs.close)
const SAFELY = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)

const pathOf = (dataDir: string, name: LockName) => join(dataDir, `postgres.${name}`)

/**
 * Acquires a lock on `dataDir`, or returns undefined if another process has it or may have it. The kernel keeps the lock, and releases it
 * when this process and all processes that inherited `fd` have ended; the file stays. Without kernel locks, the process named in the file
 * has the lock while it lives. If that process is on another boot or in another pid namespace, its state is unknown, and only `takeOver`
 * takes the lock from it.
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
      // 1.1.0 replaces the file.
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

/** Reports whether a process has a lock on `dataDir`, or may have it. */
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

/** Tries once to lock a lock file, and returns whether another process has the lock. The kernel decides; without kernel locks, the file does. */
async function tryLock(fd: number, path: string, mode: '-x' | '-s') {
  const attempt = await lockDescriptor(fd, mode)
  const found = await readHolder(path)
  const isKernelLock = attempt === 'acquired'
  const isFree = !found || (isKernelLock && found.isKernelLock)
  const life = attempt === 'held' ? 'alive' : isFree ? 'dead' : found.life
  return { isKernelLock, found, life }
}

/** Reads who has a lock on `dataDir`, as far as the lock file says. */
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
    // The kernel has the lock; the start of the server will report that the disk is full.
    if (!isDiskFull(error)) throw error
  }
}

/** Takes a lock file over from a dead holder, without a kernel lock. Creates a link named after that holder, which only one process can do, and then replaces the file by the link. */
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

/** The process that has a lock, as it describes itself in the lock file. */
type Self = Readonly<{
  pid: number
  startedAt: string
  token: string
  /** the boot and the pid namespace in which `pid` is valid; undefined in a file of 1.1.0 */
  place: string | undefined
  host: string
  /** `docker exec 0123456789ab`, the command that enters the process's container; empty outside a container */
  enter: string
  command: string
  since: string
  /** whether the kernel keeps the lock; if so, a lock that can be taken has no holder, whatever the file says */
  isKernelLock: boolean
}>

/** A holder and whether it is alive, if this process can know: only in its own boot and pid namespace. */
export type Holder = Self & Readonly<{ life: 'alive' | 'dead' | 'elsewhere' }>

const TOKEN = /^[0-9a-f-]{36}$/

async function describeSelf(isKernelLock: boolean): Promise<Self> {
  const verb = process.argv.slice(2).find((word) => /^[a-z][a-z-]+$/.test(word))
  return {
    pid: process.pid,
    startedAt: (await readProcess(process.pid))?.startedAt ?? '',
    token: randomUUID(),
    place: await readPlace(),
    host: hostname(),
    enter: await readContainer(),
    command: verb ? `musette ${verb}` : 'musette',
    since: new Date().toISOString(),
    isKernelLock,
  }
}

/** Reads who described itself in a lock file, and whether it is alive; undefined if nobody did, or if the file is damaged. */
async function readHolder(path: string): Promise<Holder | undefined> {
  const bytes = await readPlainFile(path).catch(orMissing)
  const found = Object(parseIfJson(String(bytes ?? '')))
  const text = (name: string) => (typeof found[name] === 'string' ? String(found[name]) : '')
  if (!TOKEN.test(text('token'))) return undefined
  const self: Self = {
    pid: Number(found.pid),
    startedAt: text('startedAt'),
    token: text('token'),
    place: text('place') || undefined,
    host: text('host'),
    enter: text('enter'),
    command: text('command') || 'musette',
    since: text('since'),
    isKernelLock: found.isKernelLock === true,
  }
  return { ...self, life: await readLife(self) }
}

async function readLife({ pid, startedAt, place, host }: Self): Promise<Holder['life']> {
  if (place === undefined || place === (await readPlace())) {
    const isAlive = startedAt !== '' && (await readProcess(pid))?.startedAt === startedAt
    return isAlive ? 'alive' : 'dead'
  }
  // macOS has no pid namespaces, so another boot of this machine has ended with all its processes.
  return process.platform === 'darwin' && host === hostname() ? 'dead' : 'elsewhere'
}

/** Formats who has a lock, as a phrase. */
export function formatHolder({ command, pid, host, since }: Self): string {
  const from = since && ` since ${since.slice(0, 16).replace('T', ' ')} UTC`
  return `${command} (process ${pid}${host && ` on ${host}`})${from}`
}

async function readPlace(): Promise<string> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  return `${await readBoot()} ${namespace}`
}

/** Docker and Podman mount a container's files from a folder named by the container's id. */
async function readContainer(): Promise<string> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const [, kind, id] = /\/(overlay-)?containers\/([0-9a-f]{12})[0-9a-f]{52}\//.exec(mounts) ?? []
  return id ? `${kind ? 'podman' : 'docker'} exec ${id}` : ''
}
