import type { FastifyInstance, FastifyReply } from 'fastify'
import { SECOND } from '../../kit/time.ts'
import { makeSessionCookie, readSessionCookie } from './cookie.ts'
import type { Door } from './door.ts'
import { type LoginPage, makeLoginPolicy, renderLogin } from './login-page.ts'

/** A token and a path of this site; nobody needs more. */
const FORM_BYTES = 4_096

/** Adds `/login`, a form that gives a browser a session for the token, and `/logout`, which ends it. */
export async function registerLogin(server: FastifyInstance, door: Door): Promise<void> {
  await server.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_BYTES },
      async (_request: unknown, text: string) => new URLSearchParams(text),
    )

    scope.get('/login', { config: { open: true } }, async (request, reply) => {
      const { next } = request.query as { next?: unknown }
      return sendPage(reply, { admitted: request.admitted, next: ownPath(next) })
    })

    scope.post('/login', { config: { open: true } }, async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const next = ownPath(form.get('next'))
      const verdict = door.judgeToken(form.get('token') ?? '', request)
      if (verdict.kind === 'admitted') {
        const cookie = makeSessionCookie(request, door.sessions.begin())
        return reply.header('set-cookie', cookie).redirect(next, 303)
      }
      if (verdict.kind !== 'early') return sendPage(reply.code(401), { next, problem: 'wrong' })
      const waitS = Math.ceil(verdict.waitMs / SECOND)
      return sendPage(reply.code(429).header('retry-after', String(waitS)), { next, problem: 'early' })
    })

    scope.post('/logout', { config: { open: true } }, async (request, reply) => {
      const session = readSessionCookie(request)
      if (session !== undefined) await door.sessions.end(session)
      const nothing = { value: '', maxAgeS: 0 }
      return reply.header('set-cookie', makeSessionCookie(request, nothing)).redirect('/login', 303)
    })
  })
}

function sendPage(reply: FastifyReply, page: LoginPage) {
  return reply
    .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': makeLoginPolicy() })
    .send(renderLogin(page))
}

/** A path of this site, and of no other: what follows a login must not lead away. */
function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?![/\\])[\w/.~%-]*(\?[\w/.~%=&-]*)?$/.test(next) ? next : '/'
}
