import type { Handlers } from '../jobs/jobs.ts'
import type { CoachingCounts, CoachingDeps, CoachingInput } from '../mirror/coaching/deps.ts'
import { mirrorTrainingInfo } from '../mirror/coaching/training-info.ts'
import { mirrorWorkouts } from '../mirror/coaching/workouts.ts'
import { findAccountById } from '../store/accounts.ts'
import { makeCoachingDeps } from './coaching.ts'
import type { House } from './house.ts'
import { unlessParked } from './unless-parked.ts'

/** Makes the handlers of the jobs around training info and workouts. */
export function makeCoachingHandlers(house: House): Pick<Handlers, 'poll-training-info' | 'poll-workouts'> {
  const deps = makeCoachingDeps(house)
  const handler =
    (mirror: (deps: CoachingDeps, input: CoachingInput) => Promise<CoachingCounts>) =>
    async ({ accountId }: { accountId: number }, { signal }: { signal: AbortSignal }) => {
      const account = await house.store.read((tx) => findAccountById(tx, accountId))
      if (!account) return undefined
      const counts = await unlessParked(house, account, () => mirror(deps, { account, signal }))
      return counts && counts.changed + counts.fetched + counts.failed > 0 ? { counts } : undefined
    }
  return { 'poll-training-info': handler(mirrorTrainingInfo), 'poll-workouts': handler(mirrorWorkouts) }
}
