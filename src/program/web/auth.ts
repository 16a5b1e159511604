import { createHash, timingSafeEqual } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { SECOND, systemClock } from '../../kit/time.ts'
import { type EndedSessions, makeSessions } from './sessions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether the route answers without a token */
    public?: boolean
    /** whether the route sends no data, so that a session's cookie is enough */
    page?: boolean
    /** whether the body may take longer than for other requests; the route limits the time itself */
    isSlow?: boolean
    /** whether the route is for programs: without a token, their writes need no origin */
    forPrograms?: boolean
  }
  interface FastifyRequest {
    /** whether the request has the token, or the cookie and key of an open session, or no token is required */
    authenticated: boolean
    /** whether the request has at least the cookie of an open session */
    signedIn: boolean
  }
}

/**
 * Maximum number of wrong tokens from one address that are compared and logged; further attempts get 429. Guessing cannot find a token of
 * at least 16 characters: the limit only keeps the log short, at most 43,200 lines a day per address.
 */
const WRONG_TOKENS = { max: 5, timeWindow: 10 * SECOND }
/** A browser sends a cookie to every port of a host, so the cookie's name ends with the port of the page. */
const SESSION_COOKIE = 'musette_session_'
/** The header with the session's key, which only scripts of this origin can read. */
const KEY_HEADER = 'x-musette-key'

type Verdict =
  | { kind: 'authenticated' }
  | { kind: 'page_only' }
  | { kind: 'unauthenticated' }
  | { kind: 'wrong_token' }
  | { kind: 'rate_limited'; retryAfterS: number }

export type Auth = Awaited<ReturnType<typeof registerAuth>>

/**
 * Makes the part that checks requests, the only part that knows the token, and registers the plugins for cookies (for paths below `root`)
 * and rate limits.
 */
export async function registerAuth(
  server: FastifyInstance,
  deps: { log: Logger; endedSessions: EndedSessions },
  { token, root }: { token: string; root: string },
) {
  const { log, endedSessions } = deps
  await server.register(fastifyCookie)
  await server.register(fastifyRateLimit, { global: false })
  const countWrongToken = server.createRateLimit(WRONG_TOKENS)
  const sessions = makeSessions({ log, now: systemClock, ended: endedSessions }, token)

  /** Checks a token. The right token always passes, even from an address with too many wrong tokens. */
  const checkToken = async (request: FastifyRequest, given: string): Promise<Verdict> => {
    if (isSame(given, token)) return { kind: 'authenticated' }
    const limit = await countWrongToken(request)
    if (!limit.isAllowed && limit.isExceeded) return { kind: 'rate_limited', retryAfterS: limit.ttlInSeconds }
    log.warn({ ip: request.ip }, 'web: a wrong token was given')
    return { kind: 'wrong_token' }
  }

  return {
    checkToken,
    /** Checks a request's bearer token, or else its session. The cookie alone, which every server of this host receives, opens only pages without data. */
    async authenticate(request: FastifyRequest): Promise<Verdict> {
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
      // Node decodes headers as latin1, but a token may have any character.
      if (bearer !== undefined) return checkToken(request, Buffer.from(bearer, 'latin1').toString())
      const key = String(request.headers[KEY_HEADER])
      let kind: 'unauthenticated' | 'page_only' = 'unauthenticated'
      for (const [name, value] of Object.entries(request.cookies)) {
        if (!name.startsWith(SESSION_COOKIE) || !value || !(await sessions.isOpen(value))) continue
        if (isSame(key, sessions.keyOf(value))) return { kind: 'authenticated' }
        kind = 'page_only'
      }
      return { kind }
    },
    /** Begins a session with a cookie, and returns its key for the browser's storage. */
    beginSession(request: FastifyRequest, reply: FastifyReply): string {
      const { value, maxAgeS } = sessions.begin()
      reply.setCookie(cookieName(request), value, { ...cookieOptions(request, root), maxAge: maxAgeS })
      return sessions.keyOf(value)
    },
    /** Ends the request's session permanently and removes the session's cookie. */
    async endSession(request: FastifyRequest, reply: FastifyReply) {
      const name = cookieName(request)
      const session = request.cookies[name]
      if (session !== undefined) await sessions.end(session)
      reply.clearCookie(name, cookieOptions(request, root))
    },
  }
}

/**
 * Refuses requests without a token or session, also for unknown paths, except on `public` routes. The cookie of a session opens only `page`
 * routes. Without `auth`, every request passes.
 */
export function requireAuth(server: FastifyInstance, auth: Auth | undefined): void {
  server.decorateRequest('authenticated', false)
  server.decorateRequest('signedIn', false)
  server.addHook('onRequest', async (request, reply) => {
    const verdict = auth ? await auth.authenticate(request) : ({ kind: 'authenticated' } as const)
    const { is404, routeOptions } = request
    request.authenticated = verdict.kind === 'authenticated'
    request.signedIn = request.authenticated || verdict.kind === 'page_only'
    if (request.authenticated || routeOptions.config?.public) return
    if (request.signedIn && (routeOptions.config?.page || is404)) return
    await refuse(request, reply, verdict)
  })
}

/** Redirects a browser to the login page; tells a program that the token is missing. */
async function refuse(request: FastifyRequest, reply: FastifyReply, verdict: Verdict): Promise<void> {
  if (verdict.kind === 'rate_limited') {
    const { retryAfterS } = verdict
    const error = `too many wrong tokens from this address; try again in ${retryAfterS} s`
    await reply.code(429).header('retry-after', String(retryAfterS)).send({ error })
    return
  }
  if (verdict.kind === 'unauthenticated' && isPageVisit(request)) {
    await reply.redirect(`/login?next=${encodeURIComponent(request.url)}`, 303)
    return
  }
  const error = {
    authenticated: '',
    wrong_token: 'wrong token; the right one is the value of MUSETTE_HTTP_TOKEN',
    page_only:
      'send MUSETTE_HTTP_TOKEN as a bearer token; a browser can read this only from a page of musette',
    unauthenticated: 'send MUSETTE_HTTP_TOKEN as a bearer token, or sign in at /login',
  }[verdict.kind]
  await reply.code(401).header('www-authenticate', 'Bearer').send({ error })
}

/** Reports whether a browser requests a page, as opposed to a program or a script of a page. */
export function isPageVisit({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')
}

/** Makes the cookie's name from the page's address, which the browser sends with a write; proxy headers can be forged. */
function cookieName({ headers: { origin = '' } }: FastifyRequest): string {
  return SESSION_COOKIE + (URL.canParse(origin) ? new URL(origin).port : '')
}

/** `lax`, so that a link from another site keeps the session. `secure` depends on the page's address, as the cookie's name does. */
function cookieOptions({ headers }: FastifyRequest, root: string) {
  const secure = headers.origin?.startsWith('https://') ?? false
  return { path: root || '/', httpOnly: true, sameSite: 'lax', secure } as const
}

/** Compares two texts in constant time, by hashes of equal length. */
function isSame(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(expected))
}
