import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLock, isLocked } from '../../embedded/lock.ts'

export type KeepAlive = NonNullable<Awaited<ReturnType<typeof acquireKeepAlive>>>

/** The file with the time of the last request as its time of change. */
const REQUESTED = 'postgres.requested'

/** Records that a program needs the embedded Postgres of `dataDir` from now on, and returns whether a process keeps it running. */
export async function requestKeepAlive(dataDir: string): Promise<boolean> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(join(dataDir, REQUESTED), '', { mode: 0o600 })
  return isKeptAlive(dataDir)
}

/** Whether a living process keeps the embedded Postgres of `dataDir` running. */
export function isKeptAlive(dataDir: string): Promise<boolean> {
  return isLocked(dataDir, 'holder')
}

/**
 * Acquires the lock of the process that keeps the embedded Postgres of a data directory running for other programs, or returns
 * undefined while a living process has it.
 */
export async function acquireKeepAlive(dataDir: string) {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  let lock = await acquireLock(dataDir, 'holder')
  if (!lock) return undefined
  let seen = await readRequested(dataDir)
  /** Tells whether a program has requested the database since the last call. */
  const wasRequested = async () => {
    const last = seen
    seen = await readRequested(dataDir)
    return seen !== undefined && seen !== last
  }
  return {
    wasRequested,
    /** Releases the lock; false when a program has requested the database meanwhile and this process has the lock again. */
    async release(): Promise<boolean> {
      await lock?.release()
      lock = undefined
      // A program records its request before it checks for a holder: one that still found this process has recorded it by now.
      if (!(await wasRequested())) return true
      lock = await acquireLock(dataDir, 'holder')
      return lock === undefined
    },
  }
}

async function readRequested(dataDir: string): Promise<number | undefined> {
  const file = await stat(join(dataDir, REQUESTED)).catch(() => undefined)
  return file?.mtimeMs
}
