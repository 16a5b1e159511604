import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SECOND } from '../../kit/time.ts'
import type { Door, Verdict } from './door.ts'
import { setStrictHeaders } from './headers.ts'
import { refuseForeignHost, refuseForeignWrite } from './origin.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered to strangers, too */
    open?: boolean
  }
  interface FastifyRequest {
    /** whether who asks may see everything */
    admitted: boolean
  }
}

/**
 * Puts the guard before every route, unknown ones included, that is not marked `open`. With a door it asks for the token
 * or a session; without one (on loopback) it refuses foreign names of this machine.
 */
export function guard(server: FastifyInstance, door: Door | undefined): void {
  server.decorateRequest('admitted', false)
  server.addHook('onRequest', setStrictHeaders)
  if (!door) server.addHook('onRequest', refuseForeignHost)
  server.addHook('onRequest', refuseForeignWrite)
  server.addHook('onRequest', async (request, reply) => {
    const verdict = door ? await door.judge(request) : ({ kind: 'admitted' } as const)
    request.admitted = verdict.kind === 'admitted'
    if (request.admitted || request.routeOptions.config?.open) return
    await refuse(request, reply, verdict)
  })
}

/** Answers who was not admitted: a person's browser is sent to the login page, a program is told what is missing. */
async function refuse(request: FastifyRequest, reply: FastifyReply, verdict: Verdict): Promise<void> {
  if (verdict.kind === 'early') {
    const waitS = Math.ceil(verdict.waitMs / SECOND)
    const error = `a wrong token was given a moment ago; try again in ${waitS} s`
    await reply.code(429).header('retry-after', String(waitS)).send({ error })
    return
  }
  if (verdict.kind === 'stranger' && isPageVisit(request)) {
    await reply.redirect(`/login?next=${encodeURIComponent(request.url)}`, 303)
    return
  }
  const error =
    verdict.kind === 'wrong'
      ? 'this is not the token; it is the value of MUSETTE_HTTP_TOKEN'
      : 'send MUSETTE_HTTP_TOKEN as a bearer token, or sign in at /login'
  await reply.code(401).header('www-authenticate', 'Bearer').send({ error })
}

function isPageVisit({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')
}
