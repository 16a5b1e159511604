import { spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { readSharedUrl } from '../embedded/embedded.ts'
import { acquireKeepAlive, isKeptAlive, type KeepAlive, requestKeepAlive } from '../embedded/keep-alive.ts'
import { ConfigError, errorCode, errorLine, TransientError } from '../kit/errors.ts'
import { MINUTE, SECOND, sleep } from '../kit/time.ts'
import { collectResults, openQueries } from '../store/query/raw-query.ts'
import { openDatabase } from './open-database.ts'

/** The embedded Postgres goes away when no other program has been connected or has asked for it for this long. */
const HOLD_IDLE_MS = 10 * MINUTE
const HOLD_LOOK_EVERY_MS = 30 * SECOND
/** The first start makes the database's files, which can take a while on a slow disk. */
const SHARE_WITHIN_MS = 60 * SECOND
const LOOK_EVERY_MS = 100

/** What the holding process tells the one that started it: that it is ready, or why it is not. */
type Report = { failure?: { code: string; message: string; mendable: boolean } }

/**
 * Returns a connection URL that other programs can use now and in a while: one process in the background starts the
 * embedded Postgres, or joins the one that runs, and holds it while a program is connected. The URL names a file with
 * the password, unless it is to hold the password itself. Throws the error that kept the database from starting.
 */
export async function shareDatabaseUrl(
  deps: { config: Config; log: Logger },
  options: { withPassword?: boolean; signal?: AbortSignal } = {},
): Promise<string> {
  const { config, log } = deps
  if (config.databaseUrl) return config.databaseUrl
  // Also beside one that runs: whoever runs it may be a short verb, and the holder takes over when that ends.
  let held = await requestKeepAlive(config.dataDir)
  for (let waited = 0; waited < SHARE_WITHIN_MS; waited += LOOK_EVERY_MS) {
    if (!held) await startHolder(log, options.signal)
    const url = await readSharedUrl(config.dataDir, options)
    if (url) return url
    await sleep(LOOK_EVERY_MS, options.signal)
    held = await isKeptAlive(config.dataDir)
  }
  throw new TransientError('embedded_not_started', 'the embedded Postgres did not start; run: musette doctor')
}

/** Starts the holding process and waits until it is ready, or another one holds already. Throws its failure. */
async function startHolder(log: Logger, signal: AbortSignal | undefined): Promise<void> {
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  const child = spawn(process.execPath, [main, 'db-hold'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const giveUp = new AbortController()
  try {
    const report = await new Promise<Report>((resolve, reject) => {
      child.once('message', (message) => resolve(message as Report))
      child.once('error', reject)
      child.once('exit', (code, how) =>
        reject(
          new TransientError(
            'embedded_not_started',
            `the process that holds the database ended (${how ?? code})`,
          ),
        ),
      )
      sleep(SHARE_WITHIN_MS, AbortSignal.any([giveUp.signal, ...(signal ? [signal] : [])])).then(
        () => resolve({}),
        reject,
      )
    })
    const { failure } = report
    if (!failure) return log.debug('a process holds the embedded Postgres')
    throw new (failure.mendable ? ConfigError : TransientError)(failure.code, failure.message)
  } finally {
    giveUp.abort()
    if (child.connected) child.disconnect()
    child.unref()
  }
}

/**
 * Holds the embedded Postgres until no other program has been connected or has asked for it for ten minutes, or until
 * told to stop; ends at once when another process holds it. `report` hears once how the start went.
 */
export async function holdDatabase(
  deps: { config: Config; log: Logger; report: (report: Report) => void },
  options: { signal: AbortSignal; idleMs?: number; lookEveryMs?: number },
): Promise<void> {
  const { config, log, report } = deps
  const { signal, idleMs = HOLD_IDLE_MS, lookEveryMs = HOLD_LOOK_EVERY_MS } = options
  try {
    const keepAlive = await acquireKeepAlive(config.dataDir)
    if (!keepAlive) return report({})
    const database = await openDatabase(config, log, signal)
    try {
      report({})
      await stayWhileNeeded(
        { keepAlive, url: database.url, dataDir: config.dataDir },
        { signal, idleMs, lookEveryMs },
      )
    } finally {
      await database.close()
    }
  } catch (error) {
    const mendable = error instanceof ConfigError
    report({ failure: { code: errorCode(error), message: errorLine(error), mendable } })
    throw error
  }
}

async function stayWhileNeeded(
  held: { keepAlive: KeepAlive; url: string; dataDir: string },
  options: { signal: AbortSignal; idleMs: number; lookEveryMs: number },
): Promise<void> {
  const { keepAlive, url, dataDir } = held
  const { signal, idleMs, lookEveryMs } = options
  let idle = 0
  for (;;) {
    await sleep(lookEveryMs, signal)
    // Nothing is held in a folder that was deleted.
    if (!(await stat(dataDir).catch(() => undefined))) return
    const needed = (await keepAlive.wasRequested()) || (await isInUse(url).catch(() => false))
    idle = needed ? 0 : idle + lookEveryMs
    if (idle < idleMs) continue
    if (await keepAlive.release()) return
    idle = 0
  }
}

/** Whether another program than musette, which keeps the database for itself, is connected. */
async function isInUse(url: string): Promise<boolean> {
  const queries = await openQueries({ connectionString: url, write: false })
  try {
    const [result] = await collectResults(
      queries,
      `select 1 from pg_stat_activity where backend_type = 'client backend'
        and application_name <> 'musette' and application_name not like 'musette %' limit 1`,
    )
    return (result?.rows.length ?? 0) > 0
  } finally {
    await queries.close()
  }
}
