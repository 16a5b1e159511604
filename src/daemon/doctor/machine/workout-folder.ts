import { type Finding, ok, problem } from '../finding.ts'
import type { Patient } from '../patient.ts'
import { findExisting, isAllowed, quote, readFolder } from './folder.ts'

/** Looks whether the workout of the day can be written as files. */
export async function checkWorkoutFolder({ config }: Pick<Patient, 'config'>): Promise<Finding[]> {
  const { workoutDir } = config
  if (workoutDir === undefined)
    return [ok('MUSETTE_WORKOUT_DIR is not set: the workout of the day is only in SQL')]
  const folder = await readFolder(workoutDir, 'MUSETTE_WORKOUT_DIR')
  if ('wrong' in folder) return [folder.wrong]
  if (await isAllowed(await findExisting(workoutDir), 'write')) {
    return [ok(folder.stats ? workoutDir : `${workoutDir} is not there yet; the first workout makes it`)]
  }
  const found = `${workoutDir} cannot be written by this user, so the workout of the day is only in SQL`
  return [problem('configuration', found, `mkdir -p ${quote(workoutDir)} && chmod u+w ${quote(workoutDir)}`)]
}
