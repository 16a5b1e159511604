import type { App } from '../../app/app.ts'
import { findWorkoutOfDay } from '../../store/dashboard/today-page.ts'
import type { WorkoutFileView } from '../../web/dashboard/dashboard-types.ts'
import { makeFileStem } from '../../workoutfolder/file-name.ts'

/** Finds the file of an account's workout of the day in a format, under the name that it has in the workout folder. */
export async function findWorkoutFile(
  { store }: Pick<App, 'store'>,
  { accountId, format }: { accountId: number; format: string },
): Promise<WorkoutFileView | undefined> {
  const workout = await store.read((tx) => findWorkoutOfDay(tx, accountId))
  const content = workout?.files[format]
  if (!workout || content === undefined) return undefined
  return { name: `${makeFileStem(workout.name, 'workout')}.${format}`, content }
}
