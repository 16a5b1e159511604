import { errorLine, isAbort, TransientError, UnexpectedResponseError } from '../kit/errors.ts'
import { recordVerified } from '../store/activities/activity-outcome.ts'
import { type Difference, findDifferences } from '../store/activities/differences.ts'
import { findLeastVerified, type WantedActivity } from '../store/activities/wanted.ts'
import { isItemFailure, recordFailure } from './item-failure.ts'
import {
  type MirrorDeps,
  type MirrorInput,
  type MirrorOptions,
  retryWhenRateLimited,
  withRun,
} from './mirror.ts'
import { assertNotPoorer, type FetchedActivity, fetchWhole, recordActivities } from './mirror-activity.ts'

/** The resource of the runs that compare on a schedule. */
const SCRUB = 'scrub'

/** The tables that are written with the samples of an activity. */
const OF_CONTENT = ['samples', 'power_curves', 'activity_intensity', 'ride_measures']

/** How a comparison ended: what differs, and whether the tables hold the answer's values now; `older`: the row has a newer answer. */
export type Comparison =
  | { result: 'equal' }
  | { result: 'different'; differences: Difference[]; isRepaired: boolean }
  | { result: 'older' }

type CompareInput = MirrorInput & { activity: WantedActivity }

/**
 * Fetches one activity whole (service document, endpoint 8, with samples) and compares every value with the tables. With `repair` an
 * equal answer moves `verified_at`, and another one is recorded like any change, with the first value of each field in its revision;
 * without it nothing is written. Throws UnexpectedResponseError `poorer_answer` for a repair with an answer that lacks what is
 * mirrored, and the errors of the service and the database.
 */
export async function compareActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  { activity, repair, ...input }: CompareInput & { repair: boolean },
): Promise<Comparison> {
  const fetched = await fetchWhole(deps, options, { ...input, activity })
  const detail = { ...fetched.detail, recordedAt: deps.now() }
  const differences = await deps.store.transaction(async (tx) => {
    const found = await findDifferences(tx, detail)
    if (repair && found?.length === 0) await recordVerified(tx, detail)
    return found
  })
  if (!differences) return { result: 'older' }
  if (differences.length === 0) return { result: 'equal' }
  if (!repair) return { result: 'different', differences, isRepaired: false }
  await assertNotPoorer(deps, fetched)
  return { result: 'different', differences, isRepaired: await record(deps, fetched, differences) }
}

async function record(
  deps: MirrorDeps,
  fetched: FetchedActivity,
  differences: readonly Difference[],
): Promise<boolean> {
  // Columns of the activity are in its revision anyway.
  const inContent = differences.filter(({ field }) => OF_CONTENT.some((table) => field.startsWith(table)))
  const contentChanges = Object.fromEntries(
    inContent.map(({ field, mirrored, service }) => [
      field,
      [mirrored, service] as [typeof mirrored, typeof service],
    ]),
  )
  const [end] = await recordActivities(deps, [{ ...fetched, detail: { ...fetched.detail, contentChanges } }])
  if (end && 'error' in end) throw end.error
  return end?.result === 'fetched'
}

/**
 * Compares some activities of an account with the service, those first that were compared the longest time ago, and records what
 * differs. Nothing is done while activities are to be fetched: they come first. The counts are in `sync_runs`, `changed` those that
 * differed; an activity whose comparison fails is named in the log and in its row, and the others go on. An outage ends it with the
 * TransientError.
 */
export async function scrubActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  { limit, ...input }: MirrorInput & { limit: number },
): Promise<{ compared: number; different: number }> {
  const { account, signal } = input
  const { accountId } = account
  const due = await deps.store.read((tx) => findLeastVerified(tx, { accountId, limit, now: deps.now() }))
  if (due.length === 0) return { compared: 0, different: 0 }
  return withRun(deps.store, { accountId, resource: SCRUB, kind: 'schedule' }, async (tally) => {
    for (const activity of due) {
      const { path } = activity
      const requestedAt = deps.now()
      try {
        const work = () => compareActivity(deps, options, { ...input, activity, repair: true })
        const compared = await retryWhenRateLimited(deps, work)
        tally.listed++
        if (compared.result !== 'different') continue
        tally.changed++
        const fields = compared.differences.map(({ field, cells }) => `${field} (${cells})`)
        deps.log.warn(
          { account: account.name, path, fields },
          'an activity was another one at the service than here, though nothing had told so; it is recorded as the service has it',
        )
      } catch (error) {
        if (isAbort(error, signal) || !isItemFailure(error)) throw error
        if (error instanceof TransientError && due.length === 1) throw error
        tally.failed++
        if (error instanceof UnexpectedResponseError)
          await recordFailure(deps, { activity, requestedAt, error })
        deps.log.error({ account: account.name, path, reason: errorLine(error) }, 'activity not compared')
      }
    }
    return { compared: tally.listed, different: tally.changed }
  })
}
