import type { FastifyInstance } from 'fastify'
import { findAccountById } from '../../core/store/account-rows.ts'
import { findSavedWorkouts } from '../../core/store/workout-rows.ts'
import type { WebParts } from '../../program/frame/define-feature.ts'
import { sendFile } from '../../program/frame/downloads.ts'
import { makeWorkoutFiles } from './format-workout.ts'
import { WORKOUT_FORMATS, type WorkoutFileFormat } from './workout-formats.ts'

const BY_PATH = {
  querystring: {
    type: 'object',
    properties: { path: { type: 'string', maxLength: 500 } },
    required: ['path'],
  },
} as const

/** Adds the files of each account's workouts for other programs, as `/workouts/1.erg?path=own0tempo`. */
export function registerWorkouts(server: FastifyInstance, { visitorStore }: WebParts): void {
  server.get<{ Params: { account: string; format: WorkoutFileFormat }; Querystring: { path: string } }>(
    `/workouts/:account(^\\d{1,9}$).:format(^(?:${WORKOUT_FORMATS.join('|')})$)`,
    { schema: BY_PATH },
    async (request, reply) => {
      const { account: accountId, format } = request.params
      const saved = await visitorStore.read(async (tx) => {
        const account = await findAccountById(tx, Number(accountId))
        return account ? findSavedWorkouts(tx, account) : []
      })
      const chosen = saved.filter(({ path }) => path === request.query.path)
      const [file] = makeWorkoutFiles(chosen, { formats: [format] }).wanted
      if (!file) return reply.callNotFound()
      return sendFile(reply, { name: file.stem, fallback: 'workout', format, content: file.content })
    },
  )
}
