import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { asDiskFull, ConfigError, errorCode, errorLine } from '../kit/errors.ts'
import { commandToUse } from '../kit/files.ts'
import { quoteShell } from '../kit/text.ts'
import { type Backoff, backoffMs, MINUTE, SECOND, sleep } from '../kit/time.ts'
import {
  type Access,
  chooseFreePort,
  isPortFree,
  readAccess,
  writeAccess,
  writePasswordFile,
} from './access.ts'
import { openBinaries, resolveBinaryPackage } from './binaries.ts'
import { readChanging, settleChange } from './change-major.ts'
import { hasCluster, makeSharedUrl, makeUrl, prepareCluster, setPassword } from './cluster.ts'
import { readDiskFull } from './explain-end.ts'
import { acquireLock, isLocked, type Lock, readLockHolder } from './lock.ts'
import { RECOVERING, readElsewhere, readLastLine, readNotReady, stopWithoutOwner } from './not-ready.ts'
import { type Server, startServer, tryConnect, waitUntilReady } from './postgres-server.ts'
import { stopOrphans } from './processes.ts'
import { detectRunAs } from './run-as.ts'

/** A Postgres on 127.0.0.1 that runs as long as this process, or the process that owns it, uses it. */
export type EmbeddedPostgres = {
  /** for our own clients: `postgres://musette:…@127.0.0.1:port/musette?…`, with the superuser's password; unchanged until `close` */
  readonly url: string
  /** whether this process runs the server; false while another living process does */
  readonly owned: boolean
  /** stops the server if this process runs it; a second call waits for the first */
  close(): Promise<void>
}

const DIRECTORY_CODES = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ELOOP']

const CHECK_EVERY_MS = 50
/** The usual time in which a server that another process starts is ready, ms; after that, the disk may be full. */
const START_MS = 5 * SECOND
/** How long a server recovers before a person is told, and the interval of further messages, ms. */
const REPORT_AFTER_MS = 2 * SECOND
const REPORT_EVERY_MS = 10 * SECOND

/**
 * Opens the embedded Postgres of `dataDir`, with its files in `<dataDir>/postgres`. Starts the server, or joins the server that another
 * process runs there, and takes it over when that process ends. The port is chosen once and kept, unless `port` is given. `signal` ends the
 * opening, not the server. Throws ConfigError `embedded_unavailable` and others that begin with `embedded_`, and TransientError if the
 * server does not start.
 */
export async function openEmbeddedPostgres(
  deps: { log: Logger; signal?: AbortSignal },
  options: { dataDir: string; port?: number; takeOver?: boolean | undefined },
): Promise<EmbeddedPostgres> {
  return inDataDirectory(options.dataDir, () => openOrJoin(deps, options))
}

/**
 * Returns the URL of the embedded Postgres of `dataDir` for other programs, if it accepts connections now. The URL names a file with the
 * superuser's password (libpq's `passfile`), because every user of the machine can read a command line. With `withPassword`, it contains the
 * password itself, for programs that cannot read such a file.
 */
export async function readSharedUrl(dataDir: string, options: { withPassword?: boolean } = {}) {
  return inDataDirectory(dataDir, async () => {
    const access = await probeAccess(dataDir)
    if (!access || options.withPassword) return access && makeSharedUrl(access)
    const path = await writePasswordFile(dataDir, access)
    return `${makeSharedUrl({ port: access.port })}?passfile=${encodeURIComponent(path)}`
  })
}

/** Reports whether `dataDir` has an embedded Postgres, or a living process is creating one there. */
export async function hasEmbeddedPostgres(dataDir: string): Promise<boolean> {
  return inDataDirectory(dataDir, async () => (await hasCluster(dataDir)) || (await isLocked(dataDir)))
}

async function openOrJoin(
  deps: { log: Logger; signal?: AbortSignal },
  options: { dataDir: string; port?: number; takeOver?: boolean | undefined },
): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(options.dataDir)
  const begun = Date.now()
  let reportAt = REPORT_AFTER_MS
  let isReported = false
  for (;;) {
    deps.signal?.throwIfAborted()
    const lock = await acquireLock(dataDir, 'owner', { takeOver: options.takeOver ?? false })
    if (lock)
      return { ...(await openSupervisedServer({ ...deps, lock }, { ...options, dataDir })), owned: true }
    const access = (await stopWithoutOwner(dataDir)) ? undefined : await readAccess(dataDir)
    const refusal = access && (await tryConnect(makeUrl(access)))
    if (access && refusal === undefined) return joinServer(deps, { dataDir, access })
    if (!isReported) deps.log.debug('waiting for the embedded Postgres, which another process starts')
    isReported = true
    const waitedMs = Date.now() - begun
    const full = waitedMs > START_MS ? await readDiskFull(dataDir) : undefined
    const changing = waitedMs > SECOND ? await readChanging(dataDir) : undefined
    const elsewhere = await readElsewhere(dataDir, waitedMs)
    const notReady = full ?? changing ?? elsewhere ?? (await readNotReady({ dataDir, refusal, waitedMs }))
    if (notReady) throw notReady
    if (refusal === RECOVERING && waitedMs > reportAt) {
      deps.log.warn(
        { line: await readLastLine(dataDir) },
        'waiting for the embedded Postgres, which is recovering',
      )
      reportAt = waitedMs + REPORT_EVERY_MS
    }
    await sleep(CHECK_EVERY_MS, deps.signal)
  }
}

async function probeAccess(dataDir: string): Promise<Access | undefined> {
  const access = await readAccess(dataDir)
  if (!access || (await tryConnect(makeUrl(access))) !== undefined) return undefined
  return access
}

/** Turns an error of the data directory into a ConfigError with the remedy. */
async function inDataDirectory<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const full = asDiskFull(error, existsSync(path) ? path : dirname(path))
    if (full) throw full
    const code = errorCode(error)
    // Node reports ENOENT for a folder that cannot be created on a read-only disk.
    const unmade =
      code === 'ENOENT' && error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
    if (!unmade && !DIRECTORY_CODES.includes(code)) throw error
    const named = error instanceof Error && 'path' in error ? String(error.path) : path
    const at = existsSync(named) ? named : path
    const allow = `run: ${await commandToUse(at)}`
    const mount = `its disk is mounted read-only; mount it for writing; run: df ${quoteShell(existsSync(path) ? path : dirname(path))}`
    const mends: Record<string, string> = { EACCES: allow, EPERM: allow, EROFS: mount }
    const message = `cannot use ${at} in the data directory (${code}), so the database is not opened; ${mends[code] ?? 'set MUSETTE_DATA_DIR to your own folder'}`
    throw new ConfigError('embedded_directory', message, { cause: error })
  }
}

/** How often to check that the owner is still running, ms, and so how long the database can be down after the owner exits. A check costs three small reads. */
const OWNER_CHECK_EVERY_MS = SECOND
const REOPEN_BACKOFF: Backoff = { firstMs: SECOND, maxMs: 30 * SECOND, factor: 2 }

/** Joins a server that another process owns. When the owner ends, as a short command does, takes the server over on the same port. */
function joinServer(deps: { log: Logger }, { dataDir, access }: { dataDir: string; access: Access }) {
  const leaving = new AbortController()
  let owner: Awaited<ReturnType<typeof openSupervisedServer>> | undefined

  async function follow(): Promise<void> {
    for (let failures = 0; !owner; ) {
      const pauseMs = failures === 0 ? OWNER_CHECK_EVERY_MS : backoffMs(REOPEN_BACKOFF, failures)
      // Unreferenced, so that it does not keep the process alive.
      await delay(pauseMs, undefined, { ref: false, signal: leaving.signal }).catch(() => undefined)
      if (leaving.signal.aborted) return
      try {
        const lock =
          (await readLockHolder(dataDir))?.life === 'alive' ? undefined : await acquireLock(dataDir)
        if (!lock) await stopWithoutOwner(dataDir)
        else {
          deps.log.info('taking over the embedded Postgres')
          const { port } = access
          owner = await openSupervisedServer({ ...deps, lock, signal: leaving.signal }, { dataDir, port })
        }
        failures = 0
      } catch (error) {
        if (leaving.signal.aborted) return
        failures += 1
        deps.log.error(
          { code: errorCode(error), reason: errorLine(error) },
          'cannot take over the embedded Postgres',
        )
      }
    }
  }

  const following = follow()
  return {
    url: makeUrl(access),
    get owned() {
      return owner !== undefined
    },
    async close() {
      leaving.abort()
      await following
      await owner?.close()
    },
  }
}

/** Backoff for restarts: a server dies of a full disk or of too little memory, and both last for a while. */
const RELAUNCH: Backoff = { firstMs: 200, maxMs: 30 * SECOND, factor: 2 }
/** After this time without a crash, ms, the backoff starts again. */
const SETTLED_MS = MINUTE
/** Attempts to start on a free port: another program can take the port between our check and the server's start, but hardly five times. */
const PORT_ATTEMPTS = 5

/**
 * Runs the server of `dataDir` until `close`, and starts it again on the same port whenever it dies. The caller has acquired `lock`; `close`
 * releases it, and so does a failed start. Throws ConfigError `embedded_port_taken` if the given `port` is in use.
 */
async function openSupervisedServer(
  deps: { log: Logger; lock: Lock; signal?: AbortSignal | undefined },
  input: { dataDir: string; port?: number | undefined },
) {
  const { log, lock } = deps
  const begun = Date.now()
  const closing = new AbortController()
  try {
    const launch = await prepare(input.dataDir, lock)
    const launched = await launchFirst(deps, { ...launch, ...input })
    const url = makeUrl(launched.access)
    log.info({ port: launched.access.port, ms: Date.now() - begun }, 'embedded Postgres is ready')
    const relaunch = () => startServer({ ...launch, dataDir: input.dataDir, port: launched.access.port })
    const supervised = supervise({ log, relaunch }, { ...input, url, first: launched.server }, closing.signal)
    let closed: Promise<void> | undefined
    const close = async () => {
      closing.abort()
      try {
        await supervised
        log.info('embedded Postgres is stopped')
      } finally {
        await lock.release()
      }
    }
    return {
      url,
      close() {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Prepares the start of the server: programs, user, files, password. */
async function prepare(dataDir: string, lock: Lock) {
  await settleChange(dataDir)
  const binaries = await openBinaries(resolveBinaryPackage(), join(dataDir, 'postgres.lib'))
  const runAs = await detectRunAs(binaries, dataDir, lock.fd)
  await stopOrphans(join(dataDir, 'postgres'))
  const kept = await readAccess(dataDir)
  const password = kept?.password ?? randomBytes(24).toString('hex')
  const fresh = await prepareCluster({ runAs, binaries }, { dataDir, password })
  if (!kept && !fresh) await setPassword({ runAs, binaries }, { dataDir, password })
  return { binaries, runAs, password, keptPort: kept?.port }
}

async function launchFirst(
  deps: { log: Logger; signal?: AbortSignal | undefined },
  input: Awaited<ReturnType<typeof prepare>> & { dataDir: string; port?: number | undefined },
) {
  for (let attempt = 1; ; attempt++) {
    if (input.port !== undefined && !(await isPortFree(input.port)))
      throw new ConfigError(
        'embedded_port_taken',
        `cannot start the embedded Postgres: port ${input.port} is in use; stop the program that listens there`,
      )
    const access = { password: input.password, port: input.port ?? (await chooseFreePort(input.keptPort)) }
    if (access.port !== input.keptPort) await writeAccess(input.dataDir, access)
    const server = await startServer({ ...input, port: access.port })
    try {
      await waitUntilReady(server, { ...input, url: makeUrl(access) }, deps.log, deps.signal)
      return { server, access }
    } catch (error) {
      await server.stop()
      deps.signal?.throwIfAborted()
      if (attempt === PORT_ATTEMPTS || (await isPortFree(access.port))) throw error
    }
  }
}

/** Keeps the server running until the signal aborts, then stops it. */
async function supervise(
  deps: { log: Logger; relaunch: () => Promise<Server> },
  input: { dataDir: string; url: string; first: Server },
  signal: AbortSignal,
): Promise<void> {
  const { log, relaunch } = deps
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  let server = input.first
  let deaths = 0
  let startedAt = Date.now()
  for (;;) {
    const how = await Promise.race([server.ended, aborted])
    if (signal.aborted) return server.stop()
    deaths = Date.now() - startedAt > SETTLED_MS ? 1 : deaths + 1
    const pauseMs = backoffMs(RELAUNCH, deaths)
    log.error(
      { how, pauseMs, lines: await server.readLogTail() },
      'embedded Postgres ended; starting it again',
    )
    startedAt = Date.now()
    try {
      await sleep(pauseMs, signal)
      await stopOrphans(join(input.dataDir, 'postgres'))
      server = await relaunch()
      await waitUntilReady(server, input, log, signal)
      log.warn({ ms: Date.now() - startedAt }, 'embedded Postgres is ready again')
    } catch (error) {
      if (!signal.aborted) log.warn({ reason: errorLine(error) }, 'embedded Postgres did not start')
    }
  }
}
