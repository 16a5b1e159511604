import { AjvCompiler, type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { ConfigError } from '../../kit/errors.ts'
import { isLoopback } from '../../kit/loopback.ts'
import type { WebParts } from '../frame/define-feature.ts'
import { isPageVisit, registerAuth, requireAuth } from './auth.ts'
import { type Readiness, registerHealth } from './health-routes.ts'
import { limitConnections, listenOn, MAX_UPLOAD_MS, REQUEST_MS } from './listen.ts'
import { registerLogin } from './login-page.ts'
import { registerOriginChecks } from './origin.ts'
import { registerSecurityHeaders } from './security-headers.ts'
import type { EndedSessions } from './sessions.ts'

export type WebDeps = Omit<WebParts, 'root' | 'signOut' | 'setNoSuchPage'> & {
  readiness: () => Promise<Readiness>
  endedSessions: EndedSessions
}

type WebOptions = {
  host: string
  port: number
  /** the path at which a reverse proxy serves musette, see MUSETTE_HTTP_PATH */
  path?: string
  token: string | undefined
}

/**
 * Opens the web server: `/healthz` (process alive), `/readyz` (database, queue, fresh polls), the login, and the features' routes. With a
 * token, everything except the two health checks requires it, as a bearer token or a session of `/login`. Without a token, the server
 * listens only on loopback; for any other address, throws ConfigError `http_token_missing`.
 */
export async function openWeb(
  deps: WebDeps,
  options: WebOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  assertNotExposed(options)
  const { host, port, token, path: root = '' } = options
  const { endedSessions } = deps
  const { log } = deps.app
  const server = fastify({
    logger: false,
    schemaController: { compilersFactory: { buildValidator: compileAtFirstRequest } },
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true },
    requestTimeout: MAX_UPLOAD_MS,
    rewriteUrl: (request) => withoutRoot(request.url ?? '/', root),
    // Shorter than Node's defaults, which are 60 s for headers and a check every 30 s.
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS / 2 },
  })
  limitConnections(server)
  server.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const { statusCode = 500 } = error
    // The client gets fastify's message about its own mistake; our errors go only to the log.
    if (statusCode < 500) return reply.code(statusCode).send({ error: error.message })
    log.error({ error }, 'web: a page could not be made')
    return reply.code(500).send({ error: 'see the log' })
  })
  let sendNoSuchPage: ((reply: FastifyReply) => FastifyReply) | undefined
  server.setNotFoundHandler((request, reply) =>
    sendNoSuchPage && isPageVisit(request)
      ? sendNoSuchPage(reply)
      : reply.code(404).send({ error: 'there is no such page' }),
  )
  server.addHook('onRequest', endSlowRequest)
  server.addHook('preHandler', refuseOddValues)
  const pictures = await Promise.all(deps.features.map((feature) => feature.pictures?.(deps.app.config)))
  await registerSecurityHeaders(server, pictures)
  // A redirect to a path of this site stays below the root.
  if (root)
    server.addHook('onSend', async (_request, reply) => {
      const location = reply.getHeader('location')
      if (typeof location === 'string' && location.startsWith('/')) reply.header('location', root + location)
    })
  registerOriginChecks(server, { loopbackOnly: token === undefined })
  const auth =
    token === undefined ? undefined : await registerAuth(server, { log, endedSessions }, { token, root })
  requireAuth(server, auth)
  if (auth) await registerLogin(server, auth, root)
  registerHealth(server, deps)
  const parts: WebParts = {
    ...{ ...deps, root, signOut: token !== undefined },
    setNoSuchPage(send) {
      sendNoSuchPage = send
    },
  }
  for (const feature of deps.features) await feature.routes?.(server, parts)
  return listenOn(server, { host, port })
}

/** Compiles a route's schema at the route's first request, because compiling all schemas takes a tenth of the daemon's start. */
const compileAtFirstRequest: BuildCompilerFromPool = (schemas, options) => {
  const build = AjvCompiler()
  return (route) => {
    let validate: Validate | undefined
    const validator = ((value: unknown) => {
      validate ??= build(schemas, options)(route)
      const isValid = validate(value)
      validator.errors = validate.errors ?? null
      return isValid
    }) as Validate
    return validator
  }
}
type Validate = ReturnType<ReturnType<BuildCompilerFromPool>>

/** Returns a request's path and query below `root`; other URLs, such as those of local health checks, are returned unchanged. */
function withoutRoot(url: string, root: string): string {
  if (root === '' || !url.startsWith(root) || !['/', '?', ''].includes(url.charAt(root.length))) return url
  const rest = url.slice(root.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Throws ConfigError `http_token_missing` if others can reach the address and no token is set. */
export function assertNotExposed({ host, token }: WebOptions): void {
  if (isLoopback(host) || token !== undefined) return
  throw new ConfigError(
    'http_token_missing',
    `MUSETTE_HTTP listens on ${host}, where others can reach it, so MUSETTE_HTTP_TOKEN must be set; make one with: openssl rand -hex 24`,
  )
}

/** Refuses values in a query or path that a schema accepts but Postgres cannot hold: NUL characters and infinite numbers. */
async function refuseOddValues({ query, params }: FastifyRequest, reply: FastifyReply): Promise<void> {
  const given = Object.entries({ ...(query as object), ...(params as object) })
  const isOdd = (value: unknown) =>
    typeof value === 'number' ? !Number.isFinite(value) : String(value).includes('\0')
  const odd = given.find(([name, value]) => isOdd(name) || [value].flat().some(isOdd))
  if (odd)
    await reply
      .code(400)
      .send({ error: `${JSON.stringify(odd[0])} contains a NUL character, or is not a finite number` })
}

/** Closes the connection of a request whose body is late. A route for files limits the time itself. */
async function endSlowRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw } = request
  if (raw.complete) return
  const timer = setTimeout(() => {
    const isReading = request.routeOptions.config?.isSlow && request.authenticated && !reply.sent
    if (!raw.complete && !isReading) raw.destroy()
  }, REQUEST_MS)
  raw.once('close', () => clearTimeout(timer))
}
