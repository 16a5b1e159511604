import { z } from 'zod'
import { ConfigError, connectReason, errorCode, isAbort } from '../../kit/errors.ts'
import { joinSignals, SECOND } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import type { Readiness } from '../web/health-routes.ts'

const ANSWER_WITHIN_MS = 5 * SECOND
const readinessSchema = z.object({
  ready: z.boolean(),
  parts: z.record(z.string(), z.string()),
  identity: z.string().optional(),
})

/** What is given for the identity of a database when another program answers. */
export const OTHER_PROGRAM = 'another program'

/** Fetches from the running daemon of this configuration whether it is ready; one that does not answer is not. Throws ConfigError `http_off`. */
export async function fetchReadiness(config: Config): Promise<Omit<Readiness, 'accounts' | 'server'>> {
  if (!config.http) throw new ConfigError('http_off', 'MUSETTE_HTTP is off, so the daemon cannot be asked')
  const { host, port } = config.http
  // An address to listen on everywhere is reached on loopback.
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  const within = joinSignals([], ANSWER_WITHIN_MS)
  try {
    const answer = await fetch(`http://${name}:${port}/readyz`, { signal: within.signal })
    return readinessSchema.parse(await answer.json())
  } catch (error) {
    // What fetch throws has its reason in the cause; all else comes from reading the answer.
    const reason = error instanceof TypeError ? error.cause : error
    const isOther = reason === error ? !isAbort(error) : /^(HPE_|UND_ERR_SOCKET)/.test(errorCode(reason))
    const found = `${isOther ? 'another program answers at' : 'no answer from'} ${name}:${port}`
    const parts = { daemon: `${found} (${connectReason(reason)})` }
    return { ready: false, parts, ...(isOther && { identity: OTHER_PROGRAM }) }
  } finally {
    within.clear()
  }
}
