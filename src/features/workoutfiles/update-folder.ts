import { join } from 'node:path'
import type { OnWorkouts } from '../../core/mirror/mirror.ts'
import { workoutOf } from '../../core/mirror/poll-training-info.ts'
import type { Account } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { acquireNamedLock, type Tx } from '../../core/store/store.ts'
import { findTrainingInfo, findWorkoutFiles, type TrainingInfo } from '../../core/store/training-info-rows.ts'
import { findSavedWorkouts, type SavedWorkout } from '../../core/store/workout-rows.ts'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { makeFileStem } from '../../kit/folders/file-name.ts'
import type { LocalApp } from '../../program/app/local-app.ts'
import { makeWorkoutFiles, type WantedFile } from './format-workout.ts'
import { systemCode, updateFolder } from './workout-folder.ts'

/** The account whose files lie in the folder itself; every other account has a subfolder. */
const MAIN_ACCOUNT = 'default'
/** The formats of the daemon's files: the workout of the day and saved workouts. */
const FORMATS = ['erg', 'zwo'] as const
/** Error codes of folders that musette does not touch. The messages of these errors already contain the command. */
const REFUSED = ['folder_of_another', 'not_a_folder', 'not_a_plain_file']

/**
 * Returns the function that writes the workout folder of an account from SQL: the workout of the day, and with `holdsSaved` the rider's
 * saved workouts. A lock makes sure that the last of several processes writes the newest files. The function returns whether it could write
 * the folder. It logs an unusable folder once until the folder works again or fails with another code, and logs once per workout that
 * cannot be written. Every workout is also in SQL.
 */
export function folderUpdater(
  { store, log }: Pick<LocalApp, 'store' | 'log'>,
  { dir, holdsSaved }: { dir: string; holdsSaved: boolean },
): OnWorkouts {
  const problems = new Map<string, string>()
  const logged = new Set<string>()
  const update = async (tx: Tx, of: Account) => {
    const { accountId, name: account } = of
    const inner = account === MAIN_ACCOUNT ? undefined : makeFileStem(account, 'account')
    const folder = join(dir, inner ?? '')
    const info = await findTrainingInfo(tx, accountId)
    const day = await findDayFiles(tx, info)
    const all = holdsSaved ? await findSavedWorkouts(tx, of) : []
    // The service's own files of the workout of the day replace ours.
    const isDay = ({ path }: SavedWorkout) => path === info?.wotdWorkoutId && (day ?? []).length > 0
    const saved = makeWorkoutFiles(
      all.filter((workout) => workout.isOwn && !isDay(workout)),
      { formats: FORMATS, taken: [...new Set(day?.map(({ stem }) => stem))] },
    )
    for (const problem of saved.problems) {
      if (!logged.has(problem)) log.warn({ account, problem }, 'workout cannot be written as a file')
      logged.add(problem)
    }
    const owner = { dir, database: await findIdentity(tx) }
    const files = [...(day ?? []), ...saved.wanted]
    // If the response lacks these fields, the workout of the day stays.
    const kept = day === undefined ? 'all' : saved.kept
    try {
      const changes = await updateFolder(inner, { account, owner, files, formats: FORMATS, kept })
      if (changes.written.length + changes.removed.length > 0)
        log.info({ account, ...changes }, 'workout folder updated')
      if (problems.delete(folder)) log.info({ account, folder }, 'workout folder works again')
      return true
    } catch (error) {
      const isRefused = REFUSED.includes(errorCode(error))
      const code = isRefused ? errorCode(error) : systemCode(error)
      if (code === undefined) throw error
      const why = isRefused
        ? errorLine(error)
        : 'set MUSETTE_WORKOUT_DIR to a folder with free space that this user may write to'
      if (problems.get(folder) !== code)
        log.error(
          { account, folder, code },
          `workout folder cannot be written; workouts are only in SQL; ${why}`,
        )
      problems.set(folder, code)
      return false
    }
  }
  return async (account, mirrored) => {
    if (mirrored === 'saved' && !holdsSaved) return true
    return store.transaction(async (tx) => {
      // One lock for all accounts, because they may share a folder.
      await acquireNamedLock(tx, 'workout folder', '')
      return update(tx, account)
    })
  }
}

/** Finds the files of the workout of the day; returns undefined if the training info names none. */
async function findDayFiles(tx: Tx, info: TrainingInfo | undefined): Promise<WantedFile[] | undefined> {
  const workout = workoutOf(info)
  if (!info || !workout) return undefined
  if (workout === 'none') return []
  const files = await findWorkoutFiles(tx, { accountId: info.accountId, workoutId: workout.workoutId })
  const stem = makeFileStem(info.wotdName, workout.workoutId)
  return files.map(({ format, content, sha256 }) => ({ stem, format, content, sha256 }))
}
