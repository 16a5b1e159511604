import { type ChildProcess, spawn } from 'node:child_process'
import { copyFile, open, readFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { withClient } from '../kit/postgres-client.ts'
import { SECOND, sleep, within } from '../kit/time.ts'
import type { Tools } from './cluster.ts'
import { explainEnd, readDiskFull } from './explain-end.ts'
import { RECOVERING, readLastLine, readNotReady } from './not-ready.ts'
import { stopOrphans } from './processes.ts'
import { spawnAs } from './run-as.ts'

export type Server = Awaited<ReturnType<typeof startServer>>

/** `name`: the folder of the server's files in the data directory, by default `postgres`; `settings` take precedence over its configuration file. */
type Launch = Tools & { dataDir: string; port: number; name?: string; settings?: string[] }

const LOG_LIMIT_BYTES = 5 * 1024 * 1024
/** How often the size of the log is checked, ms: each failed login by any user of the machine writes two lines, which can be hundreds of lines a second. */
const LOG_CHECK_EVERY_MS = 5 * SECOND
/** How long a fast shutdown may take, ms: the server first writes its changed memory to the disk, which takes a while on a slow disk. */
const FAST_MS = 30 * SECOND
const IMMEDIATE_MS = 5 * SECOND

/**
 * Memory limits of each server process, KiB: private memory, and address space (64 MB of shared buffers, libraries, and what parallel
 * workers share). Without them, one statement of any reader could take all memory of the machine. Ingest, rebuild, export, backup and
 * restore of four million samples take 32 MiB of the first and 180 MiB of the second; an index of any size takes 64 MiB more.
 */
const OWN_MEMORY_KIB = 512 * 1024
const ADDRESS_SPACE_KIB = 1024 * 1024
/**
 * A lower limit that the system sets is kept. The limit of private memory excludes the stack, which must be able to grow, because otherwise
 * the kernel kills the process. macOS enforces neither limit.
 */
const LIMITS = `{ ulimit -d ${OWN_MEMORY_KIB}; ulimit -v ${ADDRESS_SPACE_KIB}; } 2>/dev/null; exec "$@"`
const WITHIN_MEMORY = process.platform === 'linux' ? ['/bin/sh', '-c', LIMITS, 'sh'] : []

/** Starts the server in its own process group, with a watchdog. The server may not be ready yet. */
export async function startServer(launch: Launch) {
  const cluster = join(launch.dataDir, launch.name ?? 'postgres')
  const logPath = join(launch.dataDir, 'postgres.log')
  await rotateLog(logPath)
  const logFile = await open(logPath, 'a', 0o600)
  let logStart = (await logFile.stat()).size
  let child: ChildProcess
  let dismiss: ReturnType<typeof startWatchdog> | undefined
  let ended: Promise<string>
  try {
    const settings = [`port=${launch.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
    settings.push(...(launch.settings ?? []))
    const options = settings.flatMap((setting) => ['-c', setting])
    const command = [launch.binaries.postgres, '-D', cluster, ...options]
    child = spawnAs(launch.runAs, [...WITHIN_MEMORY, ...command], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', logFile.fd, logFile.fd],
    })
    ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    if (child.pid !== undefined) dismiss = startWatchdog(child.pid, cluster)
  } finally {
    await logFile.close()
  }
  const checkingLog = setInterval(async () => {
    if (await rotateLog(logPath).catch(() => false)) logStart = 0
  }, LOG_CHECK_EVERY_MS).unref()
  const gone = ended.then(async (how) => {
    clearInterval(checkingLog)
    await dismiss?.()
    return how
  })
  return {
    /** resolves with the reason (`exit code 1`, `SIGKILL`) when the program has ended */
    ended: gone,
    /** Reads the last few lines that the server has written to its log since its start. */
    async readLogTail(lines = 5): Promise<string> {
      // The log explains another failure, which a missing log must not hide.
      const bytes = await readFile(logPath).catch(() => Buffer.alloc(0))
      return bytes.subarray(logStart).toString('utf8').trim().split('\n').slice(-lines).join('\n')
    },
    /**
     * Stops the server: a fast shutdown, then an immediate shutdown after 30 s (or at once if `isUnwanted`, because nobody needs the files),
     * then SIGKILL 5 s later. Resolves when the process is gone.
     */
    async stop({ isUnwanted = false } = {}): Promise<void> {
      for (const [signal, waitMs] of [
        ['SIGINT', FAST_MS],
        ['SIGQUIT', IMMEDIATE_MS],
        ['SIGKILL', IMMEDIATE_MS],
      ] as const) {
        if (isUnwanted && signal === 'SIGINT') continue
        child.kill(signal)
        if (await within(gone, waitMs)) break
      }
      await stopOrphans(cluster)
    },
  }
}

/** Moves a long log to `….1`. The server keeps the file open and appends to it, so the file is copied and emptied. */
async function rotateLog(path: string): Promise<boolean> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0
  if (size <= LOG_LIMIT_BYTES) return false
  await copyFile(path, `${path}.1`)
  await truncate(path)
  return true
}

const CHECK_EVERY_MS = 20
/** How often a recovering server is checked, ms: each check writes a line to the server's log. */
const SLOW_CHECK_EVERY_MS = 500
const REPORT_AFTER_MS = 2 * SECOND
const REPORT_EVERY_MS = 10 * SECOND
/** How long a refused password is tried again, ms: the port's former user may still be answering. A refusal of our own server does not change with time. */
const WRONG_PASSWORD_MS = 2 * SECOND
const WRONG_PASSWORD = '28P01'
/** A SQLSTATE that does not change with time, unlike that of a server that is starting or has no free connection. */
const REFUSED = /^(?!57P0|28P01|53)(?=.*\d)[0-9A-Z]{5}$/
/** How many log lines of a start to read: the exits of other processes follow the reason. */
const ALL_LINES = 50
const CONNECT_WITHIN_MS = 4 * SECOND

/**
 * Waits until the server accepts connections. If the server ends first or refuses permanently, throws explainEnd's errors. Also throws
 * TransientError `embedded_disk_full`, `embedded_not_ready` as readNotReady does, ConfigError `embedded_password` if the server refuses the
 * password, and the signal's reason.
 */
export async function waitUntilReady(
  server: Server,
  input: { url: string; dataDir: string },
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  let how: string | undefined
  const watching = server.ended.then((phrase) => {
    how = phrase
  })
  const begun = Date.now()
  let reportAt = begun + REPORT_AFTER_MS
  for (let pauseMs = CHECK_EVERY_MS; ; pauseMs = Math.min(pauseMs * 1.5, SLOW_CHECK_EVERY_MS)) {
    signal?.throwIfAborted()
    const refusal = await tryConnect(input.url)
    if (refusal === undefined) return
    await Promise.race([watching, sleep(pauseMs, signal)])
    const what =
      how === undefined
        ? 'the embedded Postgres refuses connections'
        : 'the embedded Postgres ended while starting'
    if (how !== undefined || REFUSED.test(refusal))
      throw await explainEnd(
        { ...input, what },
        { how: how ?? refusal, output: await server.readLogTail(ALL_LINES) },
      )
    if (refusal === WRONG_PASSWORD && Date.now() > begun + WRONG_PASSWORD_MS) {
      const mend = 'delete that file, then start again'
      const message = `the embedded Postgres refuses the password in postgres.json; ${mend}`
      throw new ConfigError('embedded_password', message)
    }
    const notReady = await readNotReady({ ...input, refusal, waitedMs: Date.now() - begun })
    if (notReady) throw notReady
    if (Date.now() < reportAt) continue
    const full = await readDiskFull(input.dataDir)
    if (full) throw full
    // The recovery after a crash may take minutes.
    const state = refusal === RECOVERING ? 'is recovering' : 'is starting'
    log.warn({ code: refusal, line: await readLastLine(input.dataDir) }, `embedded Postgres ${state}`)
    reportAt = Date.now() + REPORT_EVERY_MS
  }
}

/** Tries one connection. Returns undefined if the server accepts it, otherwise the code of the refusal. */
export async function tryConnect(url: string): Promise<string | undefined> {
  const names = { connectionString: url, application_name: 'musette' }
  const options = { ...names, connectionTimeoutMillis: CONNECT_WITHIN_MS }
  return withClient(options, (client) => client.query('SELECT 1')).then(() => undefined, errorCode)
}

/**
 * Waits on a pipe that only the owner has open. A line means that the owner has stopped the server itself; the end of the pipe means that
 * the owner died. The script stops the server by a fast shutdown, and after 30 s by an immediate one; neither loses data. It does so only
 * while postmaster.pid names the server, because the system may have given the number to another program.
 */
const SCRIPT = `
trap '' HUP INT TERM
read -r line && exit 0
pid=$1
directory=$2
is_ours() { [ "$(head -n 1 "$directory/postmaster.pid" 2>/dev/null)" = "$pid" ]; }
tenths=0
while kill -0 "$pid" 2>/dev/null && [ "$tenths" -lt 300 ]; do
  is_ours && kill -INT "$pid" 2>/dev/null
  sleep 0.1
  tenths=$((tenths + 1))
done
is_ours && kill -QUIT "$pid" 2>/dev/null
exit 0
`

/**
 * Starts the watchdog of the server with process number `pid` on `directory`, a shell of about 1 MB that stops the server if its owner dies.
 * Returns a function that ends only the watchdog.
 */
function startWatchdog(pid: number, directory: string) {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'musette-watchdog', String(pid), directory], {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  child.stdin.on('error', () => undefined)
  return () => {
    child.stdin.end('done\n')
    return gone
  }
}
