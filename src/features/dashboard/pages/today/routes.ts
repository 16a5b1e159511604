import type { FastifyInstance, FastifyReply } from 'fastify'
import type { App } from '../../../../app/app.ts'
import type { FactsApp } from '../../../../frame/findings/facts.ts'
import { WORKOUT_FORMATS, type WorkoutFileFormat } from '../../../workoutfiles/format-workout.ts'
import { attachmentOf, KEY, sendView } from '../send-view.ts'
import { findSavedFile, findWorkoutFile, makeFindToday } from './queries.ts'

const QUERY = { querystring: { type: 'object', properties: { account: KEY } } } as const
const BY_PATH = {
  querystring: {
    type: 'object',
    properties: { path: { type: 'string', maxLength: 500 } },
    required: ['path'],
  },
} as const

/** Adds the content of the first page. */
export function registerToday(scope: FastifyInstance, app: FactsApp): void {
  const find = makeFindToday(app)
  scope.get<{ Querystring: { account?: number } }>('/today', { schema: QUERY }, async (request, reply) =>
    sendView(request, reply, await find({ accountId: request.query.account })),
  )
}

/**
 * Adds the files of each account's workouts for other programs: the one of the day at `/workouts-of-the-day/1.erg`, any listed one at
 * `/workouts/1.erg?path=own0tempo`.
 */
export function registerWorkoutFiles(server: FastifyInstance, app: Pick<App, 'store'>): void {
  server.get<{ Params: { account: string; format: string } }>(
    '/workouts-of-the-day/:account(^\\d{1,9}$).:format(^(?:erg|zwo)$)',
    async (request, reply) => {
      const { account, format } = request.params
      const file = await findWorkoutFile(app, { accountId: Number(account), format })
      if (!file) return reply.callNotFound()
      return sendFile(reply, file)
    },
  )
  server.get<{ Params: { account: string; format: WorkoutFileFormat }; Querystring: { path: string } }>(
    `/workouts/:account(^\\d{1,9}$).:format(^(?:${WORKOUT_FORMATS.join('|')})$)`,
    { schema: BY_PATH },
    async (request, reply) => {
      const { account, format } = request.params
      const { path } = request.query
      const file = await findSavedFile(app, { accountId: Number(account), path, format })
      if (!file) return reply.callNotFound()
      return sendFile(reply, file)
    },
  )
}

function sendFile(reply: FastifyReply, { name, content }: { name: string; content: string | Uint8Array }) {
  return reply
    .header('content-disposition', attachmentOf(name))
    .type('application/octet-stream')
    .send(typeof content === 'string' ? content : Buffer.from(content))
}
