import { z } from 'zod'
import { ConfigError, connectReason, errorCode } from '../../kit/errors.ts'
import { joinSignals, SECOND } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import type { Readiness } from '../web/health-routes.ts'
import { type Listener, readListener } from './read-listener.ts'

const ANSWER_WITHIN_MS = 5 * SECOND
const readinessSchema = z.object({
  ready: z.boolean(),
  parts: z.record(z.string(), z.string()),
  identity: z.string().optional(),
})

/** What is given for the identity of a database when another program answers. */
export const OTHER_PROGRAM = 'another program'

/** What a daemon says of itself; `silent`: what listens there and has not answered in time, as far as this user may look. */
type Fetched = Omit<Readiness, 'accounts' | 'server'> & { silent?: Listener | 'unknown' }

/** Fetches from the running daemon of this configuration whether it is ready; one that does not answer is not. Throws ConfigError `http_off`. */
export async function fetchReadiness(config: Config): Promise<Fetched> {
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
    if (within.isOver()) return describeSilent(`${name}:${port}`, await readListener(port))
    // What fetch throws has its reason in the cause; all else comes from reading the answer.
    const reason = error instanceof TypeError ? error.cause : error
    const isOther = reason === error || /^(HPE_|UND_ERR_SOCKET)/.test(errorCode(reason))
    const found = `${isOther ? 'another program answers at' : 'no answer from'} ${name}:${port}`
    const parts = { daemon: `${found} (${connectReason(reason)})` }
    return { ready: false, parts, ...(isOther && { identity: OTHER_PROGRAM }) }
  } finally {
    within.clear()
  }
}

/** Says who listens at an address and did not answer: another program only where its process was looked at. */
function describeSilent(address: string, listener: Listener | undefined): Fetched {
  const late = `${address} did not answer within ${ANSWER_WITHIN_MS / SECOND} s`
  if (!listener) return { ready: false, parts: { daemon: late }, silent: 'unknown' }
  const { pid, name, isMusette, isStopped } = listener
  const stopped = isStopped ? `: a signal has stopped it; run: kill -CONT ${pid}` : ''
  const who = isMusette ? `musette (pid ${pid})` : `another program (${name}, pid ${pid})`
  const parts = { daemon: `${who} at ${late}${stopped}` }
  return { ready: false, parts, silent: listener, ...(!isMusette && { identity: OTHER_PROGRAM }) }
}
