import type { ChildProcess } from 'node:child_process'
import { open, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../../kit/durations.ts'
import { within } from '../../kit/within.ts'
import type { Binaries } from './binaries.ts'
import { stopOrphans } from './orphans.ts'
import { type RunAs, spawnAs } from './run-as.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'

/** One run of the server program. */
export type Server = {
  /** resolves with a plain phrase (`exit code 1`, `SIGKILL`) when the program has ended */
  ended: Promise<string>
  /** what it wrote to its log since it was started, the last few lines */
  readLogTail(): Promise<string>
  /** stops it: fast, at once after 30 s, by force after 35 s; returns when no process of it is left */
  stop(): Promise<void>
}

type Launch = { runAs: RunAs; binaries: Binaries; dataDir: string; port: number }

const LOG_LIMIT_BYTES = 5 * 1024 * 1024
/** A fast shutdown writes everything in memory to disk first, which a slow disk takes time for. */
const FAST_MS = 30 * SECOND
const IMMEDIATE_MS = 5 * SECOND

/** Starts the server program, in a process group of its own, with a watchdog beside it. It is not ready yet. */
export async function startServer(launch: Launch): Promise<Server> {
  const cluster = join(launch.dataDir, 'postgres')
  const logPath = join(launch.dataDir, 'postgres.log')
  await rotateLog(logPath)
  const logFile = await open(logPath, 'a', 0o600)
  const logStart = (await logFile.stat()).size
  let child: ChildProcess
  let watchdog: Watchdog | undefined
  let ended: Promise<string>
  try {
    child = spawnAs(launch.runAs, [launch.binaries.postgres, ...serverOptions(cluster, launch.port)], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', logFile.fd, logFile.fd],
    })
    ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    if (child.pid !== undefined) watchdog = startWatchdog(child.pid, cluster)
  } finally {
    await logFile.close()
  }
  const gone = ended.then(async (how) => {
    await watchdog?.dismiss()
    return how
  })
  return {
    ended: gone,
    async readLogTail() {
      // The log explains another failure; its own absence must not hide that one.
      const bytes = await readFile(logPath).catch(() => Buffer.alloc(0))
      return bytes.subarray(logStart).toString('utf8').trim().split('\n').slice(-5).join('\n')
    },
    async stop() {
      for (const [signal, waitMs] of [
        ['SIGINT', FAST_MS],
        ['SIGQUIT', IMMEDIATE_MS],
        ['SIGKILL', IMMEDIATE_MS],
      ] as const) {
        child.kill(signal)
        if (await within(gone, waitMs)) break
      }
      await stopOrphans(cluster)
    },
  }
}

function serverOptions(cluster: string, port: number): string[] {
  return [
    '-D',
    cluster,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'unix_socket_directories=',
  ]
}

async function rotateLog(path: string): Promise<void> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size > LOG_LIMIT_BYTES) await rename(path, `${path}.1`)
}
