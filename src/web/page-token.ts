import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** Gives each session's pages a token that a page of another site cannot read, and checks it. */
export type PageTokens = {
  of(request: FastifyRequest): string
  isFrom(request: FastifyRequest): boolean
}

/** The header in which a page sends its token: a browser lets no page of another site send it. */
export const PAGE_TOKEN_HEADER = 'x-musette-page'

/** Makes the tokens of this process; after a restart a page fetches its token anew. */
export function makePageTokens(): PageTokens {
  const key = randomBytes(32)
  const tokenOf = ({ headers }: FastifyRequest) =>
    createHmac('sha256', key)
      .update(`${headers.cookie ?? ''}\n${headers.authorization ?? ''}`)
      .digest()
  return {
    of: (request) => tokenOf(request).toString('base64url'),
    isFrom(request) {
      const given = Buffer.from(String(request.headers[PAGE_TOKEN_HEADER] ?? ''), 'base64url')
      const expected = tokenOf(request)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
