import type { FastifyInstance } from 'fastify'
import { KEY, sendFile } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findWorkoutOfDay } from './account-day.ts'
import { makeFindToday } from './queries.ts'

/** Adds the route of the Today page's content. */
export function registerToday(scope: FastifyInstance, app: PagesApp): void {
  const find = makeFindToday(app, app.downloads.workout)
  addView(scope, '/today', { query: { account: KEY } }, ({ account: accountId }) => find({ accountId }))
}

/** Adds the routes of each account's workout of the day as a file for other programs, such as `/workouts-of-the-day/1.erg`. */
export function registerWorkoutOfDay(server: FastifyInstance, app: Pick<PagesApp, 'store'>): void {
  server.get<{ Params: { account: string; format: string } }>(
    '/workouts-of-the-day/:account(^\\d{1,9}$).:format(^(?:erg|zwo)$)',
    async (request, reply) => {
      const { account, format } = request.params
      const workout = await app.store.read((tx) => findWorkoutOfDay(tx, Number(account)))
      const content = workout?.files[format]
      if (!workout || content === undefined) return reply.callNotFound()
      return sendFile(reply, { name: workout.name, fallback: 'workout', format, content })
    },
  )
}
