import { mkdir, realpath } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ConfigError, errorCode, errorLine, TransientError } from '../kit/errors.ts'
import { type Backoff, backoffMs, MINUTE, SECOND, sleep } from '../kit/time.ts'
import { type Access, readAccess, writePasswordFile } from './access.ts'
import { findDiskFull, makeSharedUrl, makeUrl } from './cluster.ts'
import { type OwnedServer, openOwnedServer } from './owner.ts'
import { acquireOwnership, isOwned, type Ownership } from './ownership.ts'
import { tryConnect } from './server.ts'

/** A Postgres that runs on 127.0.0.1 for as long as this process, or the one that owns it, wants it. */
export type EmbeddedPostgres = {
  /** for clients of ours: `postgres://musette:…@127.0.0.1:port/musette?…`, with the superuser's password; unchanged until `close` */
  readonly url: string
  /** whether this process runs it; false while another living process does */
  readonly owned: boolean
  /** stops the server when it is owned, else only lets go; a second call waits for the first */
  close(): Promise<void>
}

const DIRECTORY_CODES: ReadonlySet<string> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'ENOSPC',
])

/** Another process may be making the files or recovering from a crash. */
const JOIN_WITHIN_MS = 10 * MINUTE
const LOOK_EVERY_MS = 50
/** A server that another process is starting is ready long before this, if the disk has room for it. */
const START_MS = 10 * SECOND

/**
 * Opens the embedded Postgres of `dataDir`, its files in `<dataDir>/postgres`: starts it, or joins the one that another
 * process runs there, and takes that one over should its owner end. Its port is chosen once and kept, unless `port`
 * asks for one. `signal` ends the opening, not the server. Throws ConfigError `embedded_unavailable` and others that
 * begin with `embedded_`, and TransientError when the server does not start.
 */
export async function openEmbeddedPostgres(
  deps: { log: Logger; signal?: AbortSignal },
  options: { dataDir: string; port?: number },
): Promise<EmbeddedPostgres> {
  return inDataDirectory(options.dataDir, () => openOrJoin(deps, options))
}

/**
 * Finds the URL of the embedded Postgres of `dataDir` for other programs if it accepts connections now. It names a file
 * with the superuser's password (libpq's `passfile`), because every user of the machine can read a command line; with
 * `withPassword` it holds the password itself, for programs that read no such file.
 */
export async function findSharedUrl(
  dataDir: string,
  options: { withPassword?: boolean } = {},
): Promise<string | undefined> {
  return inDataDirectory(dataDir, async () => {
    const access = await findAccess(dataDir)
    if (!access || options.withPassword) return access && makeSharedUrl(access)
    const path = await writePasswordFile(dataDir, access)
    return `${makeSharedUrl({ port: access.port })}?passfile=${encodeURIComponent(path)}`
  })
}

async function openOrJoin(
  deps: { log: Logger; signal?: AbortSignal },
  options: { dataDir: string; port?: number },
): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(options.dataDir)
  let begun: number | undefined
  for (;;) {
    deps.signal?.throwIfAborted()
    const ownership = await acquireOwnership(dataDir)
    if (ownership) return own(deps, { ...options, dataDir }, ownership)
    const access = await findAccess(dataDir)
    if (access) return join(deps, dataDir, access)
    if (begun === undefined) deps.log.debug('waiting for the embedded Postgres, which another process starts')
    begun ??= Date.now()
    const waitedMs = Date.now() - begun
    const full = waitedMs > START_MS ? await findDiskFull(dataDir) : undefined
    if (full) throw full
    if (waitedMs > JOIN_WITHIN_MS) {
      throw new TransientError(
        'embedded_not_ready',
        `the embedded Postgres in ${dataDir} did not become ready`,
      )
    }
    await sleep(LOOK_EVERY_MS, deps.signal)
  }
}

async function own(
  deps: { log: Logger; signal?: AbortSignal },
  input: { dataDir: string; port?: number },
  ownership: Ownership,
): Promise<EmbeddedPostgres> {
  const server = await openOwnedServer({ ...deps, ownership }, input)
  return { url: server.url, owned: true, close: () => server.close() }
}

function join(deps: { log: Logger }, dataDir: string, access: Access): EmbeddedPostgres {
  const server = joinServer(deps, { dataDir, port: access.port })
  return {
    url: makeUrl(access),
    get owned() {
      return server.isOwner()
    },
    close: () => server.close(),
  }
}

async function findAccess(dataDir: string): Promise<Access | undefined> {
  const access = await readAccess(dataDir)
  if (!access || (await tryConnect(makeUrl(access))) !== undefined) return undefined
  return access
}

/** Says in plain words that the data directory cannot be used, and what to do. */
async function inDataDirectory<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = errorCode(error)
    // Node answers ENOENT for a folder that cannot be made on a read-only disk.
    const unmade =
      code === 'ENOENT' && error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
    if (!unmade && !DIRECTORY_CODES.has(code)) throw error
    const mend = code === 'ENOSPC' ? 'make room on its disk' : 'set MUSETTE_DATA_DIR to a folder of yours'
    const message = `cannot use the data directory ${path} (${code}); ${mend}`
    throw new ConfigError('embedded_directory', message, { cause: error })
  }
}

type JoinedServer = { isOwner(): boolean; close(): Promise<void> }

/** How long the database may be gone after its owner ended; a look costs three small reads. */
const JOIN_LOOK_EVERY_MS = SECOND
const TAKE_OVER: Backoff = { firstMs: SECOND, maxMs: 30 * SECOND, factor: 2 }

/**
 * Stays beside a server that another process owns. When that process ends, this one takes the server over, on the same
 * port, so that a daemon which found the database run by a short command does not lose it with the command.
 */
function joinServer(deps: { log: Logger }, input: { dataDir: string; port: number }): JoinedServer {
  const leaving = new AbortController()
  let owner: OwnedServer | undefined

  async function takeOver(): Promise<void> {
    const ownership = await acquireOwnership(input.dataDir)
    if (!ownership) return
    deps.log.info('taking over the embedded Postgres')
    owner = await openOwnedServer({ ...deps, ownership, signal: leaving.signal }, input)
  }

  async function follow(): Promise<void> {
    for (let failures = 0; !owner; ) {
      const pauseMs = failures === 0 ? JOIN_LOOK_EVERY_MS : backoffMs(TAKE_OVER, failures)
      // Not a reason to keep the process alive.
      await delay(pauseMs, undefined, { ref: false, signal: leaving.signal }).catch(() => undefined)
      if (leaving.signal.aborted) return
      try {
        if (!(await isOwned(input.dataDir))) await takeOver()
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
    isOwner: () => owner !== undefined,
    async close() {
      leaving.abort()
      await following
      await owner?.close()
    },
  }
}
