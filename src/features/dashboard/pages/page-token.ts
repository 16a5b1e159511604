import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

const HEADER = 'x-musette-page'

/**
 * Makes the tokens of this process, one for the pages of each session, which pages of other sites cannot read or send; after a restart a
 * page fetches its token anew.
 */
export function makePageTokens() {
  const key = randomBytes(32)
  const tokenOf = ({ headers }: FastifyRequest) =>
    createHmac('sha256', key)
      .update(`${headers.cookie ?? ''}\n${headers.authorization ?? ''}`)
      .digest()
  const isOwn = (request: FastifyRequest) => {
    const given = Buffer.from(String(request.headers[HEADER] ?? ''), 'base64url')
    const expected = tokenOf(request)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return {
    of: (request: FastifyRequest) => tokenOf(request).toString('base64url'),
    /** refuses a request without the token, before its body is read */
    async require(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if (isOwn(request)) return
      const error = `send the page's own token as ${HEADER}; a page that was opened before a restart fetches it anew`
      await reply.code(403).send({ error, code: 'page_token' })
    },
  }
}
