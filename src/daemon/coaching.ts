import { HOUR } from '../kit/durations.ts'
import { errorCode, errorLine, isAbort } from '../kit/errors.ts'
import type { CoachingCounts, CoachingDeps } from '../mirror/coaching/deps.ts'
import { makeWorkoutFolder } from '../mirror/coaching/folder/folder.ts'
import { mirrorTrainingInfo } from '../mirror/coaching/training-info.ts'
import { findWorkoutsMirrored, mirrorWorkouts } from '../mirror/coaching/workouts.ts'
import { patiently } from '../mirror/patiently.ts'
import type { Account } from '../store/accounts.ts'
import type { House } from './house.ts'

/** `sync` asks for the workout lists once a day, like the daemon; a little sooner, for one that runs at a fixed hour. */
const WORKOUTS_EVERY_MS = 20 * HOUR

/** Makes what the use cases around training info and workouts need; the folder remembers what it has complained of. */
export function makeCoachingDeps(house: House): CoachingDeps {
  const dir = house.config.workoutDir
  return {
    ...house.mirror,
    listDefaultWorkouts: (baseUrl, signal) => house.service.listDefaultWorkouts(baseUrl, signal),
    folder: dir === undefined ? undefined : makeWorkoutFolder(house, { dir }),
  }
}

/**
 * Mirrors training info and the workout of the day, and the workouts when they are due or `full` asks for it. Whatever
 * fails is logged and counted and stops nothing else; only an abort is thrown. Returns how many items failed.
 */
export async function syncCoaching(
  house: House,
  input: { account: Account; full?: boolean; signal?: AbortSignal },
): Promise<number> {
  const { account, full = false, signal } = input
  const deps = makeCoachingDeps(house)
  const asked = { account, ...(signal && { signal }) }
  const { accountId } = account
  const steps: Array<readonly [string, () => Promise<CoachingCounts>]> = [
    ['training info', () => mirrorTrainingInfo(deps, asked)],
  ]
  const since = new Date(deps.now().getTime() - WORKOUTS_EVERY_MS)
  if (full || !(await findWorkoutsMirrored(deps, { accountId, since }))) {
    steps.push(['workouts', () => mirrorWorkouts(deps, asked)])
  }
  let failed = 0
  for (const [what, step] of steps) {
    try {
      failed += (await patiently(deps, step)).failed
    } catch (error) {
      if (isAbort(error, signal)) throw error
      failed++
      deps.log.error(
        { account: account.name, code: errorCode(error), reason: errorLine(error) },
        `${what} failed`,
      )
    }
  }
  return failed
}
