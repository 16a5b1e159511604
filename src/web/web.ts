import { fastify } from 'fastify'
import type { Logger } from 'pino'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { isLoopback } from '../kit/loopback.ts'
import { SECOND, systemClock } from '../kit/time.ts'
import { makeDoor } from './access/door.ts'
import { guard } from './access/guard.ts'
import { registerLogin } from './access/login.ts'
import type { EndedSessions } from './access/sessions.ts'
import { type DashboardDeps, registerDashboard } from './dashboard/dashboard.ts'
import { type Readiness, registerHealth } from './health.ts'
import type { Figures } from './metrics/figures.ts'
import { type Metrics, registerMetrics } from './metrics/metrics.ts'
import { type Board, registerQueues } from './queues.ts'

export type WebDeps = {
  log: Logger
  readiness: () => Promise<Readiness>
  metrics: Metrics
  figures: () => Promise<Figures>
  boards: readonly Board[]
  dashboard: DashboardDeps
  endedSessions: EndedSessions
}

/** How long a whole request may take to arrive, ms: the largest is a login form, and a slow sender holds a connection. */
const REQUEST_MS = 10 * SECOND
/** A browser opens six; the rest of a process's 1,024 file descriptors are for Postgres, the service and the drop folder. */
const MOST_CONNECTIONS = 256

export type WebOptions = { host: string; port: number; token: string | undefined }

/**
 * Opens the web surface: `/healthz` (process alive), `/readyz` (database, queue, fresh polls), `/metrics`, `/queues`, and
 * the dashboard at `/`. With a token everything but the two health checks asks for it, as a bearer or by a session of `/login`;
 * without one it listens on loopback only, and refuses to start elsewhere (ConfigError `http_token_missing`).
 */
export async function openWeb(
  deps: WebDeps,
  options: WebOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  assertGuarded(options)
  const { host, port, token } = options
  const { log } = deps
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    requestTimeout: REQUEST_MS,
    // Node waits 60 s for headers by default, and looks every 30 s which requests are late.
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS / 2 },
  })
  server.server.maxConnections = MOST_CONNECTIONS
  server.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const { statusCode = 500 } = error
    // What the asker did wrong is told in fastify's own words; what went wrong here is not.
    if (statusCode < 500) return reply.code(statusCode).send({ error: error.message })
    log.error({ error }, 'web: a page could not be made')
    return reply.code(500).send({ error: 'see the log' })
  })
  server.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'there is no such page' }))
  const door =
    token === undefined ? undefined : makeDoor({ log, now: systemClock, ended: deps.endedSessions }, token)
  guard(server, door)
  if (door) await registerLogin(server, door)
  registerHealth(server, deps)
  registerMetrics(server, deps)
  await registerQueues(server, deps.boards)
  await registerDashboard(server, deps.dashboard)
  try {
    const url = await server.listen({ host, port })
    return { url, close: () => server.close() }
  } catch (error) {
    const message = `MUSETTE_HTTP: cannot listen on ${host}:${port} (${errorCode(error)}); set another address, or off`
    throw new ConfigError('http_cannot_listen', message, { cause: error })
  }
}

/** Refuses, before anything is opened, an address that others can reach without a token. */
export function assertGuarded({ host, token }: WebOptions): void {
  if (isLoopback(host) || token !== undefined) return
  throw new ConfigError(
    'http_token_missing',
    `MUSETTE_HTTP listens on ${host}, where others can reach it, so MUSETTE_HTTP_TOKEN must be set; make one with: openssl rand -hex 24`,
  )
}
