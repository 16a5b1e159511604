import type { FastifyInstance } from 'fastify'

/** Whether the daemon can do its work. */
export type Readiness = {
  ready: boolean
  /** `ok` or the reason, without account names, because anybody may read it */
  parts: Record<string, string>
  /** identifies the database, and so its daemon; undefined while it cannot be read */
  identity?: string | undefined
  /** address and port of the server that is the database now */
  server?: string | undefined
  /** by account: the last poll, or that it needs a login */
  accounts: Record<string, string>
}

/** Adds `/healthz` and `/readyz`, which answer everybody; accounts and server only to an authenticated request. */
export function registerHealth(server: FastifyInstance, deps: { readiness: () => Promise<Readiness> }): void {
  const options = { config: { public: true } }
  server.get('/healthz', options, async () => ({ alive: true }))
  server.get('/readyz', options, async (request, reply) => {
    const { accounts, server: database, ...seen } = await deps.readiness()
    const known = request.authenticated && { accounts, server: database }
    return reply.code(seen.ready ? 200 : 503).send({ ...seen, ...known })
  })
}
