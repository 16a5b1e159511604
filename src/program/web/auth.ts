import { createHash, timingSafeEqual } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { SECOND, systemClock } from '../../kit/time.ts'
import { type EndedSessions, makeSessions } from './sessions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered also without a token */
    public?: boolean
    /** its body may take longer than that of other requests; the route limits it */
    isSlow?: boolean
    /** for programs: without a token their writes need no origin */
    forPrograms?: boolean
  }
  interface FastifyRequest {
    /** whether the request has the token or an open session, or none is required */
    authenticated: boolean
  }
}

/**
 * So many wrong tokens of one address are compared and logged; further ones get 429. A token has at least 16 characters, so guessing cannot
 * find it: the limit keeps the log short, at 43,200 lines a day and address.
 */
const WRONG_TOKENS = { max: 5, timeWindow: 10 * SECOND }
const SESSION_COOKIE = 'musette_session'

type Verdict =
  | { kind: 'authenticated' }
  | { kind: 'unauthenticated' }
  | { kind: 'wrong_token' }
  | { kind: 'rate_limited'; retryAfterS: number }

export type Auth = Awaited<ReturnType<typeof registerAuth>>

/** Makes the only part that knows the token, and adds the plugins for cookies, of paths below `root`, and rate limits. */
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

  /** Checks a token. The right one always passes, also from an address with too many wrong ones. */
  const checkToken = async (request: FastifyRequest, given: string): Promise<Verdict> => {
    if (isSame(given, token)) return { kind: 'authenticated' }
    const limit = await countWrongToken(request)
    if (!limit.isAllowed && limit.isExceeded) return { kind: 'rate_limited', retryAfterS: limit.ttlInSeconds }
    log.warn({ ip: request.ip }, 'web: a wrong token was given')
    return { kind: 'wrong_token' }
  }

  return {
    checkToken,
    /** Checks a request's bearer token, else its session cookie. */
    async authenticate(request: FastifyRequest): Promise<Verdict> {
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
      // Node reads a header's bytes as latin1; a token may hold any character.
      if (bearer !== undefined) return checkToken(request, Buffer.from(bearer, 'latin1').toString())
      const session = request.cookies[SESSION_COOKIE]
      const isOpen = session !== undefined && (await sessions.isOpen(session))
      return { kind: isOpen ? 'authenticated' : 'unauthenticated' }
    },
    beginSession(request: FastifyRequest, reply: FastifyReply) {
      const { value, maxAgeS } = sessions.begin()
      reply.setCookie(SESSION_COOKIE, value, { ...cookieOptions(request, root), maxAge: maxAgeS })
    },
    /** Ends the request's session permanently, and removes its cookie. */
    async endSession(request: FastifyRequest, reply: FastifyReply) {
      const session = request.cookies[SESSION_COOKIE]
      if (session !== undefined) await sessions.end(session)
      reply.clearCookie(SESSION_COOKIE, cookieOptions(request, root))
    },
  }
}

/** Refuses requests without token or session, also to unknown paths, except to `public` routes. Without `auth` everything passes. */
export function requireAuth(server: FastifyInstance, auth: Auth | undefined): void {
  server.decorateRequest('authenticated', false)
  server.addHook('onRequest', async (request, reply) => {
    const verdict = auth ? await auth.authenticate(request) : ({ kind: 'authenticated' } as const)
    request.authenticated = verdict.kind === 'authenticated'
    if (request.authenticated || request.routeOptions.config?.public) return
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
  const error =
    verdict.kind === 'wrong_token'
      ? 'this is not the token; it is the value of MUSETTE_HTTP_TOKEN'
      : 'send MUSETTE_HTTP_TOKEN as a bearer token, or sign in at /login'
  await reply.code(401).header('www-authenticate', 'Bearer').send({ error })
}

/** Tells whether a browser requests a page, and not a program or a page's script. */
export function isPageVisit({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')
}

/** `secure` follows the page's address, which the browser sends with a write; proxy headers can be forged. */
function cookieOptions({ headers }: FastifyRequest, root: string) {
  const secure = headers.origin?.startsWith('https://') ?? false
  return { path: root || '/', httpOnly: true, sameSite: 'strict', secure } as const
}

/** Compares two texts in constant time, by hashes of one length. */
function isSame(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(expected))
}
