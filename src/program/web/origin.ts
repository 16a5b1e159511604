import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../../kit/loopback.ts'

const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses writes from pages of other sites (403). With `loopbackOnly`, also refuses a Host that is not loopback: without a token, only the
 * browser's same-origin rule protects the server, and a foreign name that resolves to loopback gets around that rule (DNS rebinding).
 */
export function registerOriginChecks(server: FastifyInstance, options: { loopbackOnly: boolean }): void {
  if (options.loopbackOnly) server.addHook('onRequest', refuseForeignHost)
  server.addHook('onRequest', async (request, reply) => {
    if (READING.includes(request.method) || isOwnWrite(request)) return
    if (options.loopbackOnly && isFromProgram(request)) return
    const error = 'a page of another site may not do this; use a page of musette, or send a bearer token'
    await reply.code(403).send({ error })
  })
}

async function refuseForeignHost(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (isLoopback(request.hostname)) return
  await reply.code(403).send({ error: 'use the address of this machine, 127.0.0.1 or localhost' })
}

/** Reports whether a write comes from this site. A browser sends the origin of a write; a program without an origin must send its token, not a cookie. */
function isOwnWrite({ headers, host }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin } = headers
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
  return headers.authorization !== undefined
}

/** Reports whether a program sent a write for a `forPrograms` route: every browser sends the origin of a write to another site. */
function isFromProgram({ headers, routeOptions }: FastifyRequest): boolean {
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) return false
  return routeOptions.config?.forPrograms === true
}
