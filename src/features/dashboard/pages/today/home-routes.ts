import type { FastifyInstance } from 'fastify'
import { ConfigError, errorLine } from '../../../../kit/errors.ts'
import { isTimeZone } from '../../../../kit/time.ts'
import { setHomeTimezone } from '../../../../program/app/sign-in.ts'
import { PAGE_TOKEN_HEADER, type PageTokens } from '../page-token.ts'

const HOME = {
  type: 'object',
  properties: {
    account: { type: 'string', minLength: 1, maxLength: 200 },
    timezone: { type: 'string', minLength: 1, maxLength: 100 },
  },
  required: ['account', 'timezone'],
} as const

/** Adds `POST /api/home-timezone`, which sets the time zone of a rider's home; like the drop zone it requires the page's token. */
export function registerHomeTimezone(
  server: FastifyInstance,
  app: Parameters<typeof setHomeTimezone>[0],
  tokens: PageTokens,
): void {
  server.post<{ Querystring: { account: string; timezone: string } }>(
    '/api/home-timezone',
    { schema: { querystring: HOME } },
    async (request, reply) => {
      if (!tokens.isFrom(request))
        return reply
          .code(403)
          .send({ error: `send the page's own token as ${PAGE_TOKEN_HEADER}`, code: 'page_token' })
      const { account, timezone } = request.query
      if (!isTimeZone(timezone))
        return reply
          .code(400)
          .send({ error: `"${timezone}" is not a time zone; write an IANA name such as Europe/Berlin` })
      try {
        await setHomeTimezone(app, { name: account, timezone })
        return reply.code(204).send()
      } catch (error) {
        if (error instanceof ConfigError) return reply.code(409).send({ error: errorLine(error) })
        throw error
      }
    },
  )
}
