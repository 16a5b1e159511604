import { spawn } from 'node:child_process'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { readSharedUrl } from '../../embedded/embedded.ts'
import { acquireLock, isLocked } from '../../embedded/lock.ts'
import { readElsewhere } from '../../embedded/not-ready.ts'
import { ConfigError, errorCode, errorLine, TransientError } from '../../kit/errors.ts'
import { withClient } from '../../kit/postgres-client.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { joinSignals, MINUTE, SECOND, sleep } from '../../kit/time.ts'
import { assertDatabase, findMismatch, openDatabase } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'

/** The embedded Postgres stops if no program has been connected and no `db-url` has run for this long, ms. */
const HOLD_IDLE_MS = 10 * MINUTE
const HOLD_LOOK_EVERY_MS = 30 * SECOND
/** Timeout of a start, ms: the first start creates the database files, which is slow on a slow disk. */
const SHARE_WITHIN_MS = 60 * SECOND
const LOOK_EVERY_MS = 100
/** Connections with this name do not keep the database running. */
const OURS = { application_name: 'musette' } as const

/**
 * The message from the background process to its parent: the failure, or none if the database is ready. `mendable` is set for a
 * ConfigError.
 */
type Report = { failure?: { code: string; message: string; mendable: boolean } }

/**
 * Returns a connection URL for other programs. A background process starts the embedded Postgres, or joins the running one, and
 * keeps it running while a program is connected. The URL names a password file, or contains the password with `withPassword`.
 * Throws ConfigError `no_data` if there is no database, the error of the start, or TransientError `embedded_not_started` after a minute.
 */
export async function shareDatabaseUrl(
  deps: { config: Config; log: Logger },
  options: { withPassword?: boolean; signal?: AbortSignal } = {},
): Promise<string> {
  const { config } = deps
  if (config.databaseUrl) return config.databaseUrl
  await assertDatabase(config)
  // Needed even if Postgres is running: the owner may be a short-lived command, from which the background process takes the server over.
  await writeFile(join(config.dataDir, REQUESTED), '', { mode: 0o600 })
  for (let waited = 0; waited < SHARE_WITHIN_MS; waited += LOOK_EVERY_MS) {
    if (!(await isLocked(config.dataDir, 'holder'))) await startHolder(deps, options.signal)
    const url = await readSharedUrl(config.dataDir, options)
    if (url) return url
    const elsewhere = await readElsewhere(config.dataDir, waited)
    if (elsewhere) throw elsewhere
    await sleep(LOOK_EVERY_MS, options.signal)
  }
  throw new TransientError('embedded_not_started', 'the embedded Postgres did not start; run: musette doctor')
}

/**
 * Returns a warning if the database is older or newer than this version of musette, see findMismatch. Returns undefined if they match or
 * if the database does not answer soon, because the program that gets the URL will report that.
 */
export async function findSharedMismatch(config: Config): Promise<string | undefined> {
  const url = config.databaseUrl ?? (await readSharedUrl(config.dataDir, { withPassword: true }))
  return url && findMismatch(url)
}

/**
 * Starts the background process and waits until this or another process keeps the database running. Throws the failure that the background
 * process reports.
 */
async function startHolder(
  { config, log }: { config: Config; log: Logger },
  signal: AbortSignal | undefined,
): Promise<void> {
  const main = join(PROGRAM_FOLDER, 'dist/main.js')
  const settings = config.envFile === undefined ? [] : ['--settings', config.envFile]
  const child = spawn(process.execPath, [main, ...settings, 'db-hold'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const giveUp = joinSignals([signal])
  try {
    const report = await new Promise<Report>((resolve, reject) => {
      child.once('message', (message) => resolve(message as Report))
      child.once('error', reject)
      child.once('exit', (code, how) =>
        reject(
          new TransientError(
            'embedded_not_started',
            `the process that keeps the database running has exited (${how ?? code})`,
          ),
        ),
      )
      sleep(SHARE_WITHIN_MS, giveUp.signal).then(() => resolve({}), reject)
    })
    const { failure } = report
    if (!failure) return log.debug('a process keeps the embedded Postgres running')
    throw new (failure.mendable ? ConfigError : TransientError)(failure.code, failure.message)
  } finally {
    giveUp.abort()
    giveUp.clear()
    if (child.connected) child.disconnect()
    child.unref()
  }
}

/**
 * Keeps the embedded Postgres running until no program has been connected and no `db-url` has run for ten minutes (`idleMs`), or until the
 * signal aborts. Returns at once if another process keeps it running. Calls `report` once with the result of the start. Throws the errors
 * of the start, and the signal's reason.
 */
export async function holdDatabase(
  deps: { config: Config; log: Logger; report: (report: Report) => void },
  options: { signal: AbortSignal; idleMs?: number; lookEveryMs?: number },
): Promise<void> {
  const { config, log, report } = deps
  const { signal, idleMs = HOLD_IDLE_MS, lookEveryMs = HOLD_LOOK_EVERY_MS } = options
  try {
    await assertDatabase(config)
    const keepAlive = await acquireKeepAlive(config.dataDir)
    if (!keepAlive) return report({})
    await closeAfter(await openDatabase(config, log, signal, 'read'), async ({ url }) => {
      report({})
      for (let idle = 0; ; ) {
        await sleep(lookEveryMs, signal)
        // Somebody has deleted the data directory and thus the database.
        if (!(await stat(config.dataDir).catch(() => undefined))) return
        const needed = (await keepAlive.wasRequested()) || (await isInUse(url).catch(() => false))
        idle = needed ? 0 : idle + lookEveryMs
        if (idle < idleMs) continue
        if (await keepAlive.release()) return
        idle = 0
      }
    })
  } catch (error) {
    const mendable = error instanceof ConfigError
    report({ failure: { code: errorCode(error), message: errorLine(error), mendable } })
    throw error
  }
}

/** Reports whether a program other than musette is connected. */
async function isInUse(url: string): Promise<boolean> {
  const { rowCount } = await withClient({ ...OURS, connectionString: url }, (client) =>
    client.query(
      `select 1 from pg_stat_activity where backend_type = 'client backend'
        and application_name <> 'musette' and application_name not like 'musette %' limit 1`,
    ),
  )
  return rowCount !== 0
}

/** A file whose modification time is the time when a program last requested the database. */
const REQUESTED = 'postgres.requested'

/**
 * Acquires the lock of the process that keeps a data directory's embedded Postgres running for other programs. Returns undefined if a
 * running process holds the lock.
 */
async function acquireKeepAlive(dataDir: string) {
  let lock = await acquireLock(dataDir, 'holder')
  if (!lock) return undefined
  let seen = await readRequested(dataDir)
  /** Reports whether a program has requested the database since the last call. */
  const wasRequested = async () => {
    const last = seen
    seen = await readRequested(dataDir)
    return seen !== undefined && seen !== last
  }
  return {
    wasRequested,
    /** Releases the lock. Returns false if a program has requested the database meanwhile and this process holds the lock again. */
    async release(): Promise<boolean> {
      await lock?.release()
      lock = undefined
      // A program records its request before it looks for the process that holds the lock, so a program that found this process has
      // recorded its request by now.
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
