import { resolve, sep } from 'node:path'
import { findIdentity } from '../../core/store/database-facts.ts'
import { acquireNamedLock } from '../../core/store/store.ts'
import { findSavedWorkouts, type SavedWorkout } from '../../core/store/workout-rows.ts'
import { ConfigError } from '../../kit/errors.ts'
import { foldName } from '../../kit/folders/file-name.ts'
import { accountNamed, type LocalApp } from '../../program/app/local-app.ts'
import { makeWorkoutLines } from '../../program/frame/workout-steps.ts'
import { formatWorkout, makeWorkoutFiles } from './format-workout.ts'
import { workoutfilesSettings } from './settings.ts'
import { systemCode, updateFolder } from './workout-folder.ts'
import type { WorkoutFileFormat } from './workout-formats.ts'

/**
 * Finds the workouts of an account whose definition is fetched, ordered by name, the rider's own first. Throws ConfigError `no_account`.
 */
export async function findWorkoutLines(app: Pick<LocalApp, 'store'>, { account: name }: { account: string }) {
  const account = await accountNamed(app, name)
  const workouts = await app.store.read((tx) => findSavedWorkouts(tx, account))
  return makeWorkoutLines(workouts)
}

/**
 * Formats the workout of an account with this path, or with this name in any case. Throws ConfigError `no_workout`, `which_workout`
 * (several have the name) and `workout_not_written`.
 */
export async function findWorkoutContent(
  app: Pick<LocalApp, 'store'>,
  input: { account: string; name: string; format: WorkoutFileFormat },
): Promise<string | Uint8Array> {
  const account = await accountNamed(app, input.account)
  const workouts = await app.store.read((tx) => findSavedWorkouts(tx, account))
  const formatted = formatWorkout(chooseWorkout(workouts, input.name), input.format)
  if ('problem' in formatted) throw new ConfigError('workout_not_written', formatted.problem)
  return formatted.content
}

/**
 * Writes the workout `name` of an account, or without a name the rider's own workouts, into a folder, which is created if needed. Then
 * removes files of this format that an earlier run wrote for deleted workouts, unless somebody changed them. Never overwrites other files.
 * Returns the changes. Throws as `findWorkoutContent` does, and ConfigError `workout_folder`, `folder_of_another` and `bad_folder`.
 */
export async function exportWorkouts(
  app: Pick<LocalApp, 'store' | 'config'>,
  input: { account: string; name: string | undefined; format: WorkoutFileFormat; dir: string },
) {
  const { name, format, dir } = input
  const { dir: ownDir } = workoutfilesSettings.of(app.config)
  if (ownDir === resolve(dir))
    throw new ConfigError(
      'workout_folder',
      `${dir} is the folder of MUSETTE_WORKOUT_DIR, which musette updates by itself; name another folder, or set MUSETTE_WORKOUTS=all`,
    )
  const account = await accountNamed(app, input.account)
  return app.store.transaction(async (tx) => {
    // The daemon locks only its own folder.
    const isWithin = ownDir !== undefined && `${resolve(dir)}${sep}`.startsWith(`${ownDir}${sep}`)
    await acquireNamedLock(tx, 'workout folder', isWithin ? '' : resolve(dir))
    const all = await findSavedWorkouts(tx, account)
    const chosen = name === undefined ? all.filter(({ isOwn }) => isOwn) : [chooseWorkout(all, name)]
    const { wanted, problems, kept } = makeWorkoutFiles(chosen, { formats: [format] })
    const [problem] = problems
    if (name !== undefined && problem !== undefined) throw new ConfigError('workout_not_written', problem)
    try {
      const changes = await updateFolder(undefined, {
        account: account.name,
        owner: { dir, database: await findIdentity(tx) },
        files: wanted,
        formats: [format],
        kept: name === undefined ? kept : 'all',
      })
      return { workouts: chosen.length, problems, ...changes }
    } catch (error) {
      const code = systemCode(error)
      if (code === undefined) throw error
      throw new ConfigError(
        'bad_folder',
        `the folder ${dir} cannot be written (${code}); every file in it is complete; name a folder with free space that you may write to`,
      )
    }
  })
}

function chooseWorkout(workouts: readonly SavedWorkout[], name: string): SavedWorkout {
  const fold = (text: string | null) => foldName(text ?? '').trim()
  const byPath = workouts.find(({ path }) => path === name)
  const named = byPath ? [byPath] : workouts.filter((workout) => fold(workout.name) === fold(name))
  const [workout] = named
  if (!workout)
    throw new ConfigError('no_workout', `there is no workout "${name}"; run: musette workout list`)
  if (named.length === 1) return workout
  const paths = named.slice(0, 10).map(({ path }) => path)
  throw new ConfigError(
    'which_workout',
    `${named.length} workouts have the name "${name}"; name one of these paths: ${paths.join(', ')}`,
  )
}
