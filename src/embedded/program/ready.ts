import type { Logger } from 'pino'
import { SECOND } from '../../kit/durations.ts'
import { ConfigError, errorCode, TransientError } from '../../kit/errors.ts'
import { PostgresClient } from '../../kit/postgres-client.ts'
import { sleep } from '../../kit/sleep.ts'
import { findDiskFull } from './disk.ts'
import type { Server } from './server.ts'

const LOOK_EVERY_MS = 20
/** Each look during a long recovery leaves a line in the server's log. */
const SLOW_LOOK_EVERY_MS = 500
const REPORT_EVERY_MS = 10 * SECOND
/** The port's last user may be answering yet; ours gets no better by waiting. */
const WRONG_PASSWORD_MS = 2 * SECOND
const WRONG_PASSWORD = '28P01'
const RECOVERING = '57P03'
const CONNECT_WITHIN_MS = 5 * SECOND

/**
 * Waits until the server accepts connections. Throws TransientError `embedded_start_failed` when it ends before,
 * `embedded_disk_full` when the disk leaves it no room, ConfigError `embedded_password` when it refuses the password, or the
 * signal's reason.
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
  let reportAt = begun + REPORT_EVERY_MS
  for (let pauseMs = LOOK_EVERY_MS; ; pauseMs = Math.min(pauseMs * 1.5, SLOW_LOOK_EVERY_MS)) {
    signal?.throwIfAborted()
    const refusal = await tryConnect(input.url)
    if (refusal === undefined) return
    await Promise.race([watching, sleep(pauseMs, signal)])
    if (how !== undefined) {
      const full = await findDiskFull(input.dataDir)
      if (full) throw full
      const message = `the embedded Postgres ended while starting (${how}):\n${await server.readLogTail()}`
      throw new TransientError('embedded_start_failed', message)
    }
    if (refusal === WRONG_PASSWORD && Date.now() > begun + WRONG_PASSWORD_MS) throw wrongPassword()
    if (Date.now() < reportAt) continue
    const full = await findDiskFull(input.dataDir)
    if (full) throw full
    // Reading its log after a crash may take minutes.
    const state = refusal === RECOVERING ? 'is recovering' : 'is starting'
    log.warn({ code: refusal }, `embedded Postgres ${state}`)
    reportAt += REPORT_EVERY_MS
  }
}

/** Tries one connection; returns undefined when it was accepted, else the code of the refusal. */
export async function tryConnect(url: string): Promise<string | undefined> {
  const client = new PostgresClient({
    connectionString: url,
    application_name: 'musette',
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return undefined
  } catch (error) {
    return errorCode(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

function wrongPassword(): ConfigError {
  const message =
    'the embedded Postgres refuses the password in postgres.json; delete that file, then start again'
  return new ConfigError('embedded_password', message)
}
