import { join } from 'node:path'
import type { Logger } from 'pino'
import { makeFileStem } from '../../../normalize/coaching/file-name.ts'
import { systemCode } from './disk.ts'
import { updateFolder, type WantedFile } from './update.ts'

export type WorkoutFolder = {
  /** Makes the account's folder hold these files of ours and no others; false when the folder cannot be used. */
  update(account: string, files: readonly WantedFile[]): Promise<boolean>
}

/** The account whose files lie in the folder itself; others have one below it, by name. */
const MAIN_ACCOUNT = 'default'

/**
 * Makes the folder where the workout of the day is written. A folder that cannot be used is said once, until it can be
 * used again or fails differently; the workout of the day is in SQL all the same.
 */
export function makeWorkoutFolder(deps: { log: Logger }, options: { dir: string }): WorkoutFolder {
  const problems = new Map<string, string>()
  return {
    async update(account, files) {
      const folder =
        account === MAIN_ACCOUNT ? options.dir : join(options.dir, makeFileStem(account, 'account'))
      try {
        const changes = await updateFolder(folder, { account, files })
        if (changes.written.length + changes.removed.length > 0) {
          deps.log.info({ account, ...changes }, 'workout folder updated')
        }
        if (problems.delete(folder)) deps.log.info({ account, folder }, 'workout folder works again')
        return true
      } catch (error) {
        const code = systemCode(error)
        if (code === undefined) throw error
        if (problems.get(folder) !== code) {
          deps.log.error(
            { account, folder, code },
            'workout folder cannot be written; the workout of the day is in SQL only; see that MUSETTE_WORKOUT_DIR is a folder that this user may write',
          )
        }
        problems.set(folder, code)
        return false
      }
    },
  }
}
