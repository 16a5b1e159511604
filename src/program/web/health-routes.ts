import { type FastifyInstance, fastify } from 'fastify'
import { limitConnections, listenOn, REQUEST_MS } from './listen.ts'
import { registerSecurityHeaders } from './security-headers.ts'

/** Whether the daemon can do its work. */
export type Readiness = {
  ready: boolean
  /** `ok` or the reason, without account names, because anybody may read it */
  parts: Record<string, string>
  /** identifies the database, and so its daemon; undefined if the database cannot be read */
  identity?: string | undefined
  /** address and port of the server on which the database is now */
  server?: string | undefined
  /** by account: the time of the last poll, or that the account needs a login */
  accounts: Record<string, string>
}

/** Adds `/healthz` and `/readyz`, which answer everybody; only authenticated requests get accounts and server. */
export function registerHealth(server: FastifyInstance, deps: { readiness: () => Promise<Readiness> }): void {
  const options = { config: { public: true } }
  server.get('/healthz', options, async () => ({ alive: true }))
  server.get('/readyz', options, async (request, reply) => {
    const { accounts, server: database, ...seen } = await deps.readiness()
    const known = request.authenticated && { accounts, server: database }
    return reply.code(seen.ready ? 200 : 503).send({ ...seen, ...known })
  })
}

/**
 * Opens a placeholder web server while the daemon waits for a database or Redis. The server answers `/healthz` and `/readyz` (whose `parts`
 * name the servers that are not up); every other path gets 503. Throws ConfigError `http_cannot_listen`.
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
      .send(`musette is starting and waits for the ${waiting}. Reload this page in a moment.\n`)
  })
  return listenOn(server, options)
}
