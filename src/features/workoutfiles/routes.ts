import type { FastifyInstance } from 'fastify'
import { findAccountById } from '../../core/store/account-rows.ts'
import { findSavedWorkouts } from '../../core/store/workout-rows.ts'
import type { App } from '../../program/app/app.ts'
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

/** Adds the files of the workouts of each account for other programs, as `/workouts/1.erg?path=own0tempo`. */
export function registerWorkouts(server: FastifyInstance, app: Pick<App, 'store'>): void {
  server.get<{ Params: { account: string; format: WorkoutFileFormat }; Querystring: { path: string } }>(
    `/workouts/:account(^\\d{1,9}$).:format(^(?:${WORKOUT_FORMATS.join('|')})$)`,
    { schema: BY_PATH },
    async (request, reply) => {
      const { account, format } = request.params
      const { path } = request.query
      const file = await findFile(app, { accountId: Number(account), path, format })
      return file ? sendFile(reply, file) : reply.callNotFound()
    },
  )
}

/** Finds the file of an account's workout in a format, with its name in a folder. */
async function findFile(
  { store }: Pick<App, 'store'>,
  { accountId, path, format }: { accountId: number; path: string; format: WorkoutFileFormat },
) {
  const saved = await store.read(async (tx) => {
    const account = await findAccountById(tx, accountId)
    return account ? findSavedWorkouts(tx, account) : []
  })
  const { wanted } = makeWorkoutFiles(
    saved.filter((workout) => workout.path === path),
    { formats: [format] },
  )
  return wanted[0] && { name: `${wanted[0].stem}.${format}`, content: wanted[0].content }
}
