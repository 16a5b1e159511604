import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { ConfigError, errorLine } from '../kit/errors.ts'
import { joinSignals, SECOND } from '../kit/time.ts'
import type { Readiness } from '../web/health-routes.ts'

const ANSWER_WITHIN_MS = 5 * SECOND
const readinessSchema = z.object({ ready: z.boolean(), parts: z.record(z.string(), z.string()) })

/** Fetches from the running daemon of this configuration whether it is ready; one that does not answer is not. Throws ConfigError `http_off`. */
export async function fetchReadiness(config: Config): Promise<Pick<Readiness, 'ready' | 'parts'>> {
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
    return { ready: false, parts: { daemon: `no answer from ${name}:${port} (${errorLine(error)})` } }
  } finally {
    within.clear()
  }
}
