import { RejectedError, UnexpectedResponseError } from '../../kit/errors.ts'
import { findTrainingInfo } from '../../store/coaching/training-info.ts'
import { findRecentRuns } from '../../store/runs.ts'
import type { MirrorDeps } from '../account.ts'
import type { RunTally } from '../run.ts'
import { DEFINITIONS, mirrorDefinitions } from './definitions.ts'
import type { CoachingCounts, CoachingDeps, CoachingInput } from './deps.ts'
import { pollTrainingInfo } from './training-info.ts'
import { DEFAULT_WORKOUTS, OWN_WORKOUTS, pollDefaultWorkouts, pollOwnWorkouts } from './workout-lists.ts'

/**
 * Mirrors both workout lists, then the definitions of what they hold. A list that cannot be used stops neither the other
 * nor the definitions; the first such error is thrown at the end. An outage or a lost login is thrown at once.
 */
export async function mirrorWorkouts(deps: CoachingDeps, input: CoachingInput): Promise<CoachingCounts> {
  const { accountId } = input.account
  const counts: CoachingCounts = { changed: 0, fetched: 0, failed: 0 }
  const unusable: unknown[] = []
  const attempt = async (step: () => Promise<RunTally>) => {
    try {
      const tally = await step()
      counts.changed += tally.changed
      counts.fetched += tally.fetched
      counts.failed += tally.failed
    } catch (error) {
      if (!(error instanceof RejectedError || error instanceof UnexpectedResponseError)) throw error
      unusable.push(error)
    }
  }
  await attempt(() => pollDefaultWorkouts(deps, input))
  await attempt(() => pollOwnWorkouts(deps, input))
  // The signature that the sets are resolved for is known from the training info.
  const known = await deps.store.read((tx) => findTrainingInfo(tx, accountId))
  if (!known) await attempt(() => pollTrainingInfo(deps, input))
  await attempt(() => mirrorDefinitions(deps, input))
  if (unusable.length > 0) throw unusable[0]
  return counts
}

/**
 * Finds whether both lists and the definitions were mirrored since a moment. Single workouts may have failed, perhaps for
 * good: they wait for the next time like the rest.
 */
export async function findWorkoutsMirrored(
  deps: Pick<MirrorDeps, 'store'>,
  input: { accountId: number; since: Date },
): Promise<boolean> {
  const { accountId, since } = input
  const latest = await deps.store.read(async (tx) => [
    ...(await findRecentRuns(tx, { accountId, resource: DEFAULT_WORKOUTS, limit: 1 })),
    ...(await findRecentRuns(tx, { accountId, resource: OWN_WORKOUTS, limit: 1 })),
    ...(await findRecentRuns(tx, { accountId, resource: DEFINITIONS, limit: 1 })),
  ])
  const good = latest.filter(
    ({ outcome, startedAt }) => ['done', 'partial'].includes(outcome) && startedAt >= since,
  )
  return good.length === 3
}
