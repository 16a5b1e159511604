import type { OnWorkouts } from '../../core/mirror/mirror.ts'
import { workoutOf } from '../../core/mirror/training/poll-workout-of-day.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { acquireNamedLock, type Tx } from '../../core/store/store.ts'
import { findTrainingInfo, type TrainingInfo } from '../../core/store/training/training-info-rows.ts'
import { findWorkoutFiles } from '../../core/store/training/workout-files.ts'
import { findSavedWorkouts, type SavedWorkout } from '../../core/store/training/workout-sets.ts'
import { makeFileStem } from '../../kit/folders/file-name.ts'
import type { LocalApp } from '../../program/app/local-app.ts'
import type { WantedFile } from './wanted-files.ts'
import { makeWorkoutFolder } from './workout-folder.ts'

/**
 * Makes the function that writes the workout folder of an account from SQL, under a lock, so that the last of several processes writes the
 * newest files: the workout of the day, and with `holdsSaved` the rider's saved workouts. It returns whether the folder could be written.
 */
export function makeFolderUpdates(
  { store, log }: Pick<LocalApp, 'store' | 'log'>,
  { dir, holdsSaved }: { dir: string; holdsSaved: boolean },
): OnWorkouts {
  const folder = makeWorkoutFolder({ log }, { dir })
  return async (account, mirrored) => {
    if (mirrored === 'saved' && !holdsSaved) return true
    return store.transaction(async (tx) => {
      // One lock for all accounts: a folder may be shared.
      await acquireNamedLock(tx, 'workout folder', '')
      const info = await findTrainingInfo(tx, account.accountId)
      const day = await findDayFiles(tx, info)
      const all = holdsSaved ? await findSavedWorkouts(tx, account) : []
      // The service's own files of a workout stand for ours.
      const isDay = ({ path }: SavedWorkout) => path === info?.wotdWorkoutId && (day ?? []).length > 0
      const saved = all.filter((workout) => workout.isOwn && !isDay(workout))
      return folder.update(account.name, { database: await findIdentity(tx), day, saved })
    })
  }
}

/** Finds the files of the workout of the day; undefined when the training info names none. */
async function findDayFiles(tx: Tx, info: TrainingInfo | undefined): Promise<WantedFile[] | undefined> {
  const workout = workoutOf(info)
  if (!info || !workout) return undefined
  if (workout === 'none') return []
  const files = await findWorkoutFiles(tx, { accountId: info.accountId, workoutId: workout.workoutId })
  const stem = makeFileStem(info.wotdName, workout.workoutId)
  return files.map(({ format, content, sha256 }) => ({ stem, format, content, sha256 }))
}
