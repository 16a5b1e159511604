import type { Logger } from 'pino'
import { REPLICA } from '../../core/jobs/backend.ts'
import { fetchRedisFacts } from '../../core/jobs/redis.ts'
import { mapDatabaseError } from '../../core/store/database-errors.ts'
import { tryRoom } from '../../core/store/try-write.ts'
import { connectReason, errorCode, errorLine, isNotUpYet, TransientError } from '../../kit/errors.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { UNFIT } from '../../kit/postgres/read-only-server.ts'
import { withClient } from '../../kit/postgres-client.ts'
import { joinSignals, SECOND, sleep, waitFor } from '../../kit/time.ts'
import { remedyOf, withRemedy } from '../app/remedy.ts'
import type { Config } from '../config/config.ts'
import { openWaitingWeb } from '../web/health-routes.ts'

/** Backoff for a server that is not up (first, longest), and the timeout of one attempt, ms. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [1 * SECOND, 5 * SECOND]
const ANSWER_WITHIN_MS = 5 * SECOND

/**
 * Waits until the database and Redis answer, if the configuration names them, because on a machine's start they start at the same time as
 * musette. The log and `/readyz` say which server is missing. If waiting cannot help, as with a wrong password or a missing database,
 * throws the error at once. Throws the signal's reason if the signal aborts.
 */
export async function waitForServers(
  { log }: { log: Logger },
  input: { config: Config; http: Config['http']; signal: AbortSignal },
): Promise<void> {
  const { config, http, signal } = input
  const problems = makeLogOnce(log)
  let parts: Record<string, string> = {}
  let web: { close(): Promise<void> } | undefined
  try {
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 1.2)) {
      const patience = { signal, withinMs: ANSWER_WITHIN_MS }
      const looks = SERVERS.map(async ({ setting, attempt, ...server }) => {
        const url = config[setting]
        return { ...server, absence: url === undefined ? undefined : await attempt(url, patience) }
      })
      parts = {}
      for (const { part, variable, code, absence } of await Promise.all(looks)) {
        if (absence === undefined) {
          problems.over(part)
          continue
        }
        const isFull = absence.code === 'database_disk_full'
        parts[part] = `${isFull ? 'its disk is full' : 'not up yet'}; musette waits for it`
        const sentence = `waiting for the ${part} (${variable}) to be up: ${absence.reason}`
        problems.say('warn', part, withRemedy(sentence, remedyOf({ code, ...absence }, config)))
      }
      if (Object.keys(parts).length === 0) return
      web ??= http && (await openWaitingWeb({ parts: () => parts }, http))
      await sleep(pauseMs, signal)
    }
  } finally {
    await web?.close()
  }
}

/** Servers that may not be up yet; `part` is the name in `/readyz`, and `code` the verb's error that has the same remedy. */
const SERVERS = [
  {
    ...{ part: 'database', variable: 'DATABASE_URL', code: 'database_unreachable' },
    ...{ setting: 'databaseUrl' as const, attempt: tryDatabase },
  },
  {
    ...{ part: 'queue', variable: 'REDIS_URL', code: 'queue_unreachable' },
    ...{ setting: 'redisUrl' as const, attempt: tryRedis },
  },
]

/** Why a server is not up yet, in a few words; `code`: the code of an error that has its own remedy. */
type Absence = { reason: string; code?: string }

/** Error codes of a database that has no room to write now. */
const LACKS_ROOM: ReadonlySet<string> = new Set(['database_disk_full', 'database_memory', 'database_limit'])

type Patience = { signal: AbortSignal; withinMs: number }

/** Connects to the database once. Returns and throws as tryServer does, for example ConfigError `database_login_refused` for a wrong password. */
export function tryDatabase(connectionString: string, patience: Patience) {
  const config = {
    connectionString,
    application_name: 'musette',
    connectionTimeoutMillis: patience.withinMs,
  }
  return tryServer(patience, async (signal) => {
    // If the URL allows a read-only server, the code that writes waits for the server.
    const answer = withClient(config, async (client) => {
      await client.query('')
      if (client.takesWrites) await tryRoom(client)
    })
    await waitFor(answer, signal).catch((error: unknown) => {
      throw isNotUpYet(error) ? error : mapDatabaseError(error, 'connect')
    })
    return undefined
  })
}

/** Connects to Redis once. Returns and throws as tryServer does, for example TransientError `queue_unreachable` for a wrong password. */
export function tryRedis(url: string, patience: Patience) {
  return tryServer(patience, async (signal) => {
    const nodes = await fetchRedisFacts(url, signal)
    if (nodes.some(({ isReplica }) => isReplica)) return REPLICA.found
    return nodes.find(({ notReady }) => notReady)?.notReady
  })
}

/**
 * Tries a server once. Returns undefined if it answers, otherwise why it is not up yet: for example no answer within `withinMs`, or a
 * database that refuses writes or has no room for them. Throws an error if waiting cannot help, and the signal's reason at once if the
 * signal aborts.
 */
async function tryServer(
  { signal, withinMs }: Patience,
  look: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<Absence | undefined> {
  signal.throwIfAborted()
  const ended = joinSignals([signal], withinMs)
  try {
    const reason = await look(ended.signal)
    return reason === undefined ? undefined : { reason }
  } catch (error) {
    signal.throwIfAborted()
    if (ended.isOver()) return { reason: 'no answer' }
    const code = errorCode(error)
    if (UNFIT.has(code)) return { reason: errorLine(error) }
    if (LACKS_ROOM.has(code)) return { reason: errorLine(error), code }
    const cause = error instanceof TransientError ? error.cause : error
    if (isNotUpYet(cause)) return { reason: connectReason(cause) }
    throw error
  } finally {
    ended.clear()
  }
}
