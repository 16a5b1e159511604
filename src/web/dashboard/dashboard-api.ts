import type { FastifyInstance, FastifyReply } from 'fastify'
import { ConfigError, errorLine, TransientError } from '../../kit/errors.ts'
import { registerActivityList } from './activity-list-routes.ts'
import { registerActivity } from './activity-routes.ts'
import type { DashboardDeps } from './dashboard-types.ts'
import { sendView } from './send-view.ts'

/** The largest key that Postgres's integer holds. */
const ID = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const
const BY_ACCOUNT = { type: 'object', properties: { account: ID } } as const
const BY_SEASON = {
  type: 'object',
  properties: { account: ID, season: { type: 'integer', minimum: 1900, maximum: 9999 } },
} as const

/** Adds the views of the pages as JSON under `/api/`: GET only, with an ETag, so that an unchanged view costs little. */
export async function registerDashboardApi(server: FastifyInstance, deps: DashboardDeps): Promise<void> {
  await server.register(
    async (scope) => {
      scope.setErrorHandler((error, _request, reply) => sendUnavailable(error, reply))

      scope.get<{ Querystring: { account?: number } }>(
        '/today',
        { schema: { querystring: BY_ACCOUNT } },
        async (request, reply) =>
          sendView(request, reply, await deps.findToday({ accountId: request.query.account })),
      )

      scope.get('/runs', async (request, reply) => sendView(request, reply, await deps.findRuns()))

      registerActivityList(scope, deps)

      registerActivity(scope, deps)

      scope.get<{ Querystring: { account?: number; season?: number } }>(
        '/fitness',
        { schema: { querystring: BY_SEASON } },
        async (request, reply) => {
          const { account: accountId, season } = request.query
          return sendView(request, reply, await deps.findFitness({ accountId, season }))
        },
      )
    },
    { prefix: '/api' },
  )
}

/** Sends the sentence of an error that passes by itself or that a person can mend; the server handles all others. */
function sendUnavailable(error: unknown, reply: FastifyReply) {
  if (error instanceof TransientError || error instanceof ConfigError)
    return reply.code(503).send({ error: errorLine(error) })
  throw error
}
