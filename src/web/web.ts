import { createHash, timingSafeEqual } from 'node:crypto'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { type Overview, renderOverview } from './overview.ts'

/** Whether the daemon can do its work; each part says why not in one sentence. */
export type Readiness = { ready: boolean; parts: Record<string, string> }

export type WebDeps = {
  log: Logger
  readiness: () => Promise<Readiness>
  overview: () => Promise<Overview>
}

export type WebOptions = { host: string; port: number; token: string | undefined }

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost']
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
}

/**
 * Opens the web surface: `/healthz` (process alive), `/readyz` (database, queue, fresh polls), `/` the overview. Off
 * loopback everything but the two health checks asks for the token as a bearer; without a token it refuses to start
 * there (ConfigError `http_token_missing`).
 */
export async function openWeb(
  deps: WebDeps,
  options: WebOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const { host, port, token } = options
  if (!LOOPBACK.includes(host) && token === undefined) {
    throw new ConfigError(
      'http_token_missing',
      `MUSETTE_HTTP listens on ${host}, so MUSETTE_HTTP_TOKEN must be set`,
    )
  }
  const server = fastify({ logger: false, forceCloseConnections: true })
  if (token === undefined) server.addHook('onRequest', refuseForeignHost)
  server.get('/healthz', async () => ({ alive: true }))
  server.get('/readyz', async (_request, reply) => {
    const readiness = await deps.readiness()
    return reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
  server.get('/', { onRequest: askForToken(token) }, async (_request, reply) =>
    reply.headers(PAGE_HEADERS).send(renderOverview(await deps.overview())),
  )
  server.setErrorHandler((error, _request, reply) => {
    deps.log.error({ error }, 'a page could not be made')
    return reply.code(500).send({ error: 'see the log' })
  })
  try {
    const url = await server.listen({ host, port })
    return { url, close: () => server.close() }
  } catch (error) {
    const message = `MUSETTE_HTTP: cannot listen on ${host}:${port} (${errorCode(error)}); set another address, or off`
    throw new ConfigError('http_cannot_listen', message, { cause: error })
  }
}

// Without a token only the browser's own rules keep strange pages out, and a name that is made to resolve to loopback
// passes those: it shows in the Host header.
async function refuseForeignHost(request: FastifyRequest, reply: FastifyReply) {
  if (LOOPBACK.includes(request.hostname.replace(/[[\]]/g, ''))) return
  await reply.code(403).send({ error: 'ask for it by the address of this machine' })
}

function askForToken(token: string | undefined) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (token === undefined) return
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    // Hashes have one length, so the comparison takes the same time whatever was given.
    if (timingSafeEqual(digest(given), digest(token))) return
    await reply
      .code(401)
      .header('www-authenticate', 'Bearer')
      .send({ error: 'MUSETTE_HTTP_TOKEN is asked for' })
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
