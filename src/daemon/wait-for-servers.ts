import type { Logger } from 'pino'
import { remedyOf, withRemedy } from '../app/remedy.ts'
import type { Config } from '../config/config.ts'
import { fetchWhyRedisIsDown } from '../jobs/backend.ts'
import { makeLogOnce } from '../kit/log-once.ts'
import { SECOND, sleep } from '../kit/time.ts'
import { findWhyDatabaseIsDown } from '../store/reach-database.ts'
import { openWaitingWeb } from '../web/waiting-web.ts'

/** How often a server that is not up is looked at again, and how long it may take to answer, ms. */
const EVERY_MS = 1 * SECOND
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
  const { http, signal } = input
  const servers = serversOf(input.config)
  const problems = makeLogOnce(log)
  let parts: Record<string, string> = {}
  let web: { close(): Promise<void> } | undefined
  try {
    for (;;) {
      const options = { signal, withinMs: ANSWER_WITHIN_MS }
      const reasons = await Promise.all(servers.map(({ fetchWhyDown }) => fetchWhyDown(options)))
      parts = {}
      for (const [index, { part, variable, code }] of servers.entries()) {
        const reason = reasons[index]
        if (reason === undefined) {
          problems.over(part)
          continue
        }
        parts[part] = 'not up yet; musette waits for it'
        const sentence = `waiting for the ${part}, which ${variable} names, to be up: ${reason}`
        problems.say('warn', part, withRemedy(sentence, remedyOf({ code }, input.config)))
      }
      if (Object.keys(parts).length === 0) return
      web ??= http && (await openWaitingWeb({ parts: () => parts }, http))
      await sleep(EVERY_MS, signal)
    }
  } finally {
    await web?.close()
  }
}

/** A server that may not be up yet, by the name of its part in `/readyz`. */
type Server = Readonly<{
  part: string
  variable: string
  /** of the error that a verb ends with, which has the same remedy */
  code: 'database_unreachable' | 'queue_unreachable'
  fetchWhyDown(options: { signal: AbortSignal; withinMs: number }): Promise<string | undefined>
}>

function serversOf({ databaseUrl, redisUrl }: Config): Server[] {
  const servers: Server[] = []
  if (databaseUrl !== undefined)
    servers.push({
      part: 'database',
      variable: 'DATABASE_URL',
      code: 'database_unreachable',
      fetchWhyDown: (options) => findWhyDatabaseIsDown(databaseUrl, options),
    })
  if (redisUrl !== undefined)
    servers.push({
      part: 'queue',
      variable: 'REDIS_URL',
      code: 'queue_unreachable',
      fetchWhyDown: (options) => fetchWhyRedisIsDown(redisUrl, options),
    })
  return servers
}
