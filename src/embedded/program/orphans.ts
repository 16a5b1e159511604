import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../../kit/durations.ts'
import { TransientError } from '../../kit/errors.ts'
import { sleep } from '../../kit/sleep.ts'
import { listServerProcesses, readPostmasterPid } from './processes.ts'

/** An orphan has nobody waiting for its answers, and its watchdog is stopping it as well. */
const FAST_MS = 10 * SECOND
const IMMEDIATE_MS = 5 * SECOND
const LOOK_EVERY_MS = 20

/**
 * Stops every server process still at work in `cluster`, then removes the postmaster.pid that would be in the way, since
 * its number may belong to another program by now. Only the owner of the data directory may call it.
 */
export async function stopOrphans(cluster: string): Promise<void> {
  const found = await listServerProcesses(cluster)
  const postmaster = await readPostmasterPid(cluster)
  if (found.length > 0 && postmaster !== undefined && found.includes(postmaster))
    signalAll([postmaster], 'SIGINT')
  if (await isDeserted(cluster, FAST_MS)) return removePidFile(cluster)
  signalAll(await listServerProcesses(cluster), 'SIGQUIT')
  if (await isDeserted(cluster, IMMEDIATE_MS)) return removePidFile(cluster)
  signalAll(await listServerProcesses(cluster), 'SIGKILL')
  if (await isDeserted(cluster, IMMEDIATE_MS)) return removePidFile(cluster)
  throw new TransientError(
    'embedded_orphan',
    `cannot stop the embedded Postgres that still runs in ${cluster}`,
  )
}

async function isDeserted(cluster: string, withinMs: number): Promise<boolean> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    if ((await listServerProcesses(cluster)).length === 0) return true
  }
  return false
}

async function removePidFile(cluster: string): Promise<void> {
  await rm(join(cluster, 'postmaster.pid'), { force: true })
}

function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended meanwhile.
    }
  }
}
