import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../../kit/loopback.ts'

const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses a name of this machine that is not its own. Without a token only the browser's own rules keep strange pages out,
 * and a foreign name that is made to resolve to loopback passes those: it shows in the Host header.
 */
export async function refuseForeignHost(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (isLoopback(request.hostname)) return
  await reply
    .code(403)
    .send({ error: 'ask for it by the address of this machine, as 127.0.0.1 or localhost' })
}

/** Refuses a write that a page of somebody else caused. */
export async function refuseForeignWrite(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (READING.includes(request.method) || isOwnWrite(request)) return
  const error =
    'a page of another site may not do this; send it from a page of musette, or with a bearer token'
  await reply.code(403).send({ error })
}

/** A browser says where a write comes from; a program that says nothing must bring its token along, not a cookie. */
function isOwnWrite({ headers, host }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  if (headers.origin !== undefined) return hostOf(headers.origin) === host.toLowerCase()
  return headers.authorization !== undefined
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
