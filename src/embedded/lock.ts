import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../kit/errors.ts'
import { orMissing, writeFlushed } from '../kit/files.ts'
import { parseIfJson } from '../kit/json.ts'
import { isProcessAlive, type ProcessIdentity, readProcessIdentity } from './processes.ts'

type Holder = ProcessIdentity & { token: string }

/** A lock on a data directory, for one process at a time. */
export type Lock = { release(): Promise<void> }

/** `owner` runs the server, `holder` keeps it running for other programs. */
type LockName = 'owner' | 'holder'

const UNREADABLE = ''
const HOLDER_TOKEN = /^[0-9a-f-]{36}$/

/**
 * Acquires a lock on `dataDir`, or returns undefined while a living process has it. The lock of a process that died, even by
 * kill -9, is free.
 *
 * The lock is a file created by `link`, which succeeds in one process only. The file of a dead holder T is not removed: the
 * next holder creates a file named after T, in the same way, and renames it over the first. After creating a file, a process
 * follows the chain again and has the lock only if the end is its own; so a slow process that acts on an old reading notices
 * it, and two processes never have the lock at once.
 */
export async function acquireLock(dataDir: string, name: LockName = 'owner'): Promise<Lock | undefined> {
  const holder: Holder = { ...(await readProcessIdentity(process.pid)), token: randomUUID() }
  const root = join(dataDir, `postgres.${name}`)
  const scratch = `${root}.${holder.token}.new`
  await writeFlushed(scratch, JSON.stringify(holder), 0o600)
  try {
    for (;;) {
      const end = await followChain(root)
      if (end.holder) return undefined
      if (!(await tryLink(scratch, end.path))) continue
      if ((await followChain(root)).holder?.token !== holder.token) {
        await rm(end.path, { force: true })
        continue
      }
      if (end.path !== root) await rename(end.path, root)
      await removeLeftovers(root)
      return {
        async release() {
          if ((await readHolder(root))?.token === holder.token) await rm(root, { force: true })
        },
      }
    }
  } finally {
    await rm(scratch, { force: true })
  }
}

/** Whether a living process has a lock on `dataDir`. */
export async function isLocked(dataDir: string, name: LockName = 'owner'): Promise<boolean> {
  return (await followChain(join(dataDir, `postgres.${name}`))).holder !== undefined
}

/** Follows the chain of holders to the living one, or to the path where the next one may create its file. */
async function followChain(root: string): Promise<{ path: string; holder?: Holder }> {
  let path = root
  for (;;) {
    const holder = await readHolder(path)
    if (!holder) return { path }
    if (await isProcessAlive(holder)) return { path, holder }
    path = holder.token === UNREADABLE ? `${path}.next` : `${root}.${holder.token}`
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(orMissing)
  if (text === undefined) return undefined
  const { pid, startedAt, token } = Object(parseIfJson(text))
  if (typeof token === 'string' && HOLDER_TOKEN.test(token))
    return { pid: Number(pid), startedAt: String(startedAt), token }
  // A crash of the machine left the file unreadable; it counts as a dead holder's.
  return { pid: 0, startedAt: '', token: UNREADABLE }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Removes the files of dead processes. Only the holder of the lock calls it. */
async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(dirname(root))) {
    if (!name.startsWith(`${basename(root)}.`)) continue
    const path = join(dirname(root), name)
    const holder = await readHolder(path)
    // An unreadable scratch file may be written at this moment.
    const unfinished = name.endsWith('.new') && holder?.token === UNREADABLE
    if (holder && !unfinished && !(await isProcessAlive(holder))) await rm(path, { force: true })
  }
}
