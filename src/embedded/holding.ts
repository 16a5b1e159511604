import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireOwnership, isOwned } from './ownership.ts'

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
