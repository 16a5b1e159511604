import { fastify } from 'fastify'
import { registerHealth } from './health-routes.ts'
import { limitConnections, listenOn, REQUEST_MS } from './listen.ts'
import { registerSecurityHeaders } from './security-headers.ts'

/**
 * Opens a placeholder of the web surface while the daemon waits for a database or Redis: `/healthz`, `/readyz` (`parts` names the servers
 * that are not up), and 503 for everything else. Throws ConfigError `http_cannot_listen`.
 */
export async function openWaitingWeb(
  deps: { parts: () => Record<string, string> },
  options: { host: string; port: number },
): Promise<{ close(): Promise<void> }> {
  const server = fastify({ logger: false, forceCloseConnections: true, requestTimeout: REQUEST_MS })
  limitConnections(server)
  await registerSecurityHeaders(server)
  registerHealth(server, { readiness: async () => ({ ready: false, parts: deps.parts(), accounts: {} }) })
  server.setNotFoundHandler((_request, reply) => {
    const waiting = Object.keys(deps.parts()).join(' and ')
    return reply
      .code(503)
      .header('retry-after', '5')
      .type('text/plain')
      .send(`musette starts: it waits for the ${waiting}. Load this page again in a moment.\n`)
  })
  return listenOn(server, options)
}
