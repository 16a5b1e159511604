import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isProcessAlive, type ProcessIdentity, readProcessIdentity } from './processes.ts'

type Holder = ProcessIdentity & { token: string }

/** A right that one process at a time has to a data directory; given back by `release`. */
export type Ownership = { release(): Promise<void> }

/** What one process at a time may do: run the server, or keep it running for other programs. */
type Right = 'owner' | 'holder'

const UNREADABLE = ''
const HOLDER_TOKEN = /^[0-9a-f-]{36}$/

/**
 * Takes a right to `dataDir`, or returns undefined while a living process holds it. A holder that died, even by
 * kill -9, is no obstacle.
 *
 * The lock is a file made by `link`, which only one process can win. A dead holder is followed up, not removed: the
 * right to come after holder T is the file named after T, made the same way, and whoever makes it renames it over the
 * first. Having made a file, a process walks the chain again and believes only an end that is its own; so a slow
 * process that acts on an old reading finds out, and two can never hold it.
 */
export async function acquireOwnership(
  dataDir: string,
  right: Right = 'owner',
): Promise<Ownership | undefined> {
  const holder: Holder = { ...(await readProcessIdentity(process.pid)), token: randomUUID() }
  const root = lockOf(dataDir, right)
  const scratch = `${root}.${holder.token}.new`
  await writeFile(scratch, JSON.stringify(holder), { mode: 0o600, flush: true })
  try {
    for (;;) {
      const end = await walk(root)
      if (end.holder) return undefined
      if (!(await linkOnce(scratch, end.path))) continue
      if ((await walk(root)).holder?.token !== holder.token) {
        await rm(end.path, { force: true })
        continue
      }
      if (end.path !== root) await rename(end.path, root)
      await removeLeftovers(root)
      return { release: () => releaseOwnership(root, holder.token) }
    }
  } finally {
    await rm(scratch, { force: true })
  }
}

/** Whether a living process holds a right to `dataDir`. */
export async function isOwned(dataDir: string, right: Right = 'owner'): Promise<boolean> {
  return (await walk(lockOf(dataDir, right))).holder !== undefined
}

function lockOf(dataDir: string, right: Right): string {
  return join(dataDir, `postgres.${right}`)
}

/** Follows the chain of holders to the living one, or to the path where the next one may stand. */
async function walk(root: string): Promise<{ path: string; holder?: Holder }> {
  let path = root
  for (;;) {
    const holder = await readHolder(path)
    if (!holder) return { path }
    if (await isProcessAlive(holder)) return { path, holder }
    path = holder.token === UNREADABLE ? `${path}.next` : `${root}.${holder.token}`
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const { pid, startedAt, token } = JSON.parse(text)
    if (typeof token === 'string' && HOLDER_TOKEN.test(token)) {
      return { pid: Number(pid), startedAt: String(startedAt), token }
    }
  } catch {
    // A file that a crash of the machine left unreadable names nobody; the next holder stands behind it.
  }
  return { pid: 0, startedAt: '', token: UNREADABLE }
}

async function linkOnce(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

async function releaseOwnership(root: string, token: string): Promise<void> {
  if ((await readHolder(root))?.token === token) await rm(root, { force: true })
}

/** Removes what dead processes left of their attempts. Only the owner calls it. */
async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(dirname(root))) {
    if (!name.startsWith(`${basename(root)}.`)) continue
    const path = join(dirname(root), name)
    const holder = await readHolder(path)
    // An unreadable scratch file may be one that is being written at this moment.
    const unfinished = name.endsWith('.new') && holder?.token === UNREADABLE
    if (holder && !unfinished && !(await isProcessAlive(holder))) await rm(path, { force: true })
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** The duty of one process to keep the embedded Postgres of a data directory running for other programs. */
export type Holding = {
  /** whether a program has asked for the database since the last call */
  wasRequested(): Promise<boolean>
  /** Gives the duty back; false when a program has asked for the database meanwhile and this process has it again. */
  release(): Promise<boolean>
}

/** Its time of change says when the database was last asked for. */
const REQUESTED = 'postgres.requested'

/** Notes that a program needs the embedded Postgres of `dataDir` from now on, and tells whether a process holds it. */
export async function requestHolding(dataDir: string): Promise<boolean> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(join(dataDir, REQUESTED), '', { mode: 0o600 })
  return isHeld(dataDir)
}

/** Whether a living process holds the embedded Postgres of `dataDir`. */
export function isHeld(dataDir: string): Promise<boolean> {
  return isOwned(dataDir, 'holder')
}

/** Takes the duty, or returns undefined while a living process has it. */
export async function acquireHolding(dataDir: string): Promise<Holding | undefined> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  let ownership = await acquireOwnership(dataDir, 'holder')
  if (!ownership) return undefined
  let seen = await readRequested(dataDir)
  const wasRequested = async () => {
    const last = seen
    seen = await readRequested(dataDir)
    return seen !== undefined && seen !== last
  }
  return {
    wasRequested,
    async release() {
      await ownership?.release()
      ownership = undefined
      // Who asks notes that first and looks for the holder after it: who saw this one alive has noted it by now.
      if (!(await wasRequested())) return true
      ownership = await acquireOwnership(dataDir, 'holder')
      return ownership === undefined
    },
  }
}

async function readRequested(dataDir: string): Promise<number | undefined> {
  const file = await stat(join(dataDir, REQUESTED)).catch(() => undefined)
  return file?.mtimeMs
}
