import type { FastifyInstance } from 'fastify'

/** Whether the daemon can do its work. */
export type Readiness = {
  ready: boolean
  /** `ok` or why not, in a sentence that names no account: anybody may read it */
  parts: Record<string, string>
  /** each account's last poll, or that it needs a login, by name */
  accounts: Record<string, string>
}

/** Adds `/healthz` and `/readyz`, which answer everybody; the accounts are told to those who may see them. */
export function registerHealth(server: FastifyInstance, deps: { readiness: () => Promise<Readiness> }): void {
  const open = { config: { open: true } }
  server.get('/healthz', open, async () => ({ alive: true }))
  server.get('/readyz', open, async (request, reply) => {
    const { ready, parts, accounts } = await deps.readiness()
    return reply.code(ready ? 200 : 503).send({ ready, parts, ...(request.admitted && { accounts }) })
  })
}
