import type { FastifyInstance } from 'fastify'

/** Whether the daemon can do its work. */
export type Readiness = {
  ready: boolean
  /** `ok` or the reason in a sentence that names no account: anybody may read it */
  parts: Record<string, string>
  /** of the database, which tells its daemon from that of another one; undefined while it cannot be read */
  identity?: string | undefined
  /** each account's last poll, or that it needs a login, by name */
  accounts: Record<string, string>
}

/** Adds `/healthz` and `/readyz`, which answer everybody; only an authenticated request sees the accounts. */
export function registerHealth(server: FastifyInstance, deps: { readiness: () => Promise<Readiness> }): void {
  const options = { config: { public: true } }
  server.get('/healthz', options, async () => ({ alive: true }))
  server.get('/readyz', options, async (request, reply) => {
    const { accounts, ...seen } = await deps.readiness()
    return reply.code(seen.ready ? 200 : 503).send({ ...seen, ...(request.authenticated && { accounts }) })
  })
}
