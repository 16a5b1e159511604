import type { FastifyInstance } from 'fastify'
import type { App } from '../../../app/app.ts'
import { KEY, sendView } from '../send-view.ts'
import { findWorkoutFile, makeFindToday } from './queries.ts'

const QUERY = { querystring: { type: 'object', properties: { account: KEY } } } as const

/** Adds the content of the first page. */
export function registerToday(scope: FastifyInstance, app: Pick<App, 'config' | 'store'>): void {
  const find = makeFindToday(app)
  scope.get<{ Querystring: { account?: number } }>('/today', { schema: QUERY }, async (request, reply) =>
    sendView(request, reply, await find({ accountId: request.query.account })),
  )
}

/** Adds the file of each account's workout of the day, for a trainer or another program, as `/workouts-of-the-day/1.erg`. */
export function registerWorkoutFiles(server: FastifyInstance, app: Pick<App, 'store'>): void {
  server.get<{ Params: { account: string; format: string } }>(
    '/workouts-of-the-day/:account(^\\d{1,9}$).:format(^(?:erg|zwo)$)',
    async (request, reply) => {
      const { account, format } = request.params
      const file = await findWorkoutFile(app, { accountId: Number(account), format })
      if (!file) return reply.callNotFound()
      const ascii = file.name.replaceAll(/[^\w. -]/g, '_')
      const name = `attachment; filename="${ascii}"; filename*=UTF-8''${encodeURIComponent(file.name)}`
      return reply.header('content-disposition', name).type('application/octet-stream').send(file.content)
    },
  )
}
