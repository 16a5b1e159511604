import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** Gives the pages of each session a token that pages of other sites cannot read, and checks it. */
export type PageTokens = {
  of(request: FastifyRequest): string
  isFrom(request: FastifyRequest): boolean
}

/** The header with the token: a browser lets no page of another site send it. */
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
