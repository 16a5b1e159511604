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

/** The first and the longest pause before a server that is not up is looked at again, and how long it may take to answer, ms. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [1 * SECOND, 5 * SECOND]
const ANSWER_WITHIN_MS = 5 * SECOND

/**
 * Waits until the database and Redis answer, those that the configuration names: a machine that starts starts them at the same time.
 * The log and `/readyz` say which one is waited for. Throws at once what time does not mend, such as a wrong password or a missing
 * database, and the signal's reason when it aborts.
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
        const sentence = `waiting for the ${part}, which ${variable} names, to be up: ${absence.reason}`
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

/** Servers that may not be up yet, by the names of their parts in `/readyz`; `code` is that of a verb's error, which has the same remedy. */
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

/** Why a server is not up yet, in a few words; `code`: of an error that has a remedy of its own. */
type Absence = { reason: string; code?: string }

/** Codes of a database that has no room to write now. */
const LACKS_ROOM: ReadonlySet<string> = new Set(['database_disk_full', 'database_memory', 'database_limit'])

type Patience = { signal: AbortSignal; withinMs: number }

/** Connects to the database once. Returns and throws as tryServer; ConfigError `database_login_refused` for a wrong password, for instance. */
export function tryDatabase(connectionString: string, patience: Patience) {
  const config = {
    connectionString,
    application_name: 'musette',
    connectionTimeoutMillis: patience.withinMs,
  }
  return tryServer(patience, async (signal) => {
    // A server that is only read is waited for by whoever writes there.
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

/** Connects to Redis once. Returns and throws as tryServer; TransientError `queue_unreachable` for a wrong password, for instance. */
export function tryRedis(url: string, patience: Patience) {
  return tryServer(patience, async (signal) => {
    const nodes = await fetchRedisFacts(url, signal)
    if (nodes.some(({ isReplica }) => isReplica)) return REPLICA.found
    return nodes.find(({ notReady }) => notReady)?.notReady
  })
}

/**
 * Looks at a server once. Returns undefined when it answers, or why it is not up yet, also when it has not answered after `withinMs`, or
 * that a database takes no writes or lacks room for them. Throws what time does not mend, and the signal's reason at once when it aborts.
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
