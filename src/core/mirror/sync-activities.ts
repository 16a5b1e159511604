import { ConfigError, errorLine, UnexpectedResponseError } from '../../kit/errors.ts'
import { countByState, recordRefetch } from '../store/activities/wanted.ts'
import { type FetchCounts, type FetchWantedInput, fetchWanted } from './fetch-wanted.ts'
import { type MirrorDeps, retryWhenRateLimited } from './mirror.ts'
import { pollActivities } from './poll-activities.ts'
import { type ReconcileResult, reconcileActivities } from './reconcile-activities.ts'
import { updateTimeZones } from './time-zones.ts'

type PassCounts = {
  listed: number
  fetched: number
  unchanged: number
  absent: number
  /** activities whose last answer was unusable, in this pass or earlier, and unreadable list entries */
  failed: number
  /** known changes that are not mirrored yet, such as samples that the service has not computed */
  pending: number
  /** the message of the first failure of this pass */
  reason?: string
}

type PassInput = FetchWantedInput & {
  /** also compares the whole list with the mirror */
  full?: boolean
  /** accepts the list even when most of the activities are missing in it */
  acceptRemovals?: boolean
}

/**
 * Mirrors the activities of an account in one pass without a queue: polls the list, with `full` reconciles, fetches every wanted activity,
 * newest first, until none is due, and finds their time zones. A list that reconcile refuses is logged and counted as failed, and the pass
 * continues; an outage ends it.
 */
export async function syncActivities(deps: MirrorDeps, input: PassInput): Promise<PassCounts> {
  const { accountId } = input.account
  const poll = await retryWhenRateLimited(deps, () => pollActivities(deps, input))
  const compared = input.full ? await reconcile(deps, input) : undefined
  const fetched = await fetchWanted(deps, input)
  await updateTimeZones(deps, input.account)
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const refused = compared === 'refused' ? 1 : 0
  const reconciled = compared === 'refused' ? undefined : compared
  return {
    listed: reconciled?.listed ?? poll.listed,
    fetched: fetched.fetched,
    unchanged: fetched.unchanged,
    absent: (reconciled?.absent ?? 0) + fetched.absent,
    failed: states.failed + Math.max(poll.bad, refused),
    pending: states.wanted + states.awaiting_samples,
    ...(fetched.reason !== undefined && { reason: fetched.reason }),
  }
}

async function reconcile(deps: MirrorDeps, input: PassInput): Promise<ReconcileResult | 'refused'> {
  try {
    return await reconcileActivities(deps, input)
  } catch (error) {
    if (!(error instanceof UnexpectedResponseError)) throw error
    deps.log.error({ account: input.account.name, code: error.code }, errorLine(error))
    return 'refused'
  }
}

/** The activities to fetch again: of these paths, or from the day `since` (as midnight UTC) on. */
export type ResyncChoice = { paths: readonly string[] } | { since: Date }

/**
 * Marks activities to be fetched again with their samples and rewritten, then fetches every wanted activity. Throws
 * ConfigError `unknown_activity` and marks nothing when a path is not mirrored or is absent.
 */
export async function resyncActivities(
  deps: MirrorDeps,
  input: FetchWantedInput & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { choice } = input
  const { accountId, name } = input.account
  const marked = await deps.store.transaction(async (tx) => {
    const found = await recordRefetch(tx, { accountId, wantedAt: deps.now(), ...choice })
    if (!('paths' in choice)) return found
    const missing = choice.paths.filter((path) => !found.includes(path))
    if (missing.length === 0) return found
    throw unknownActivity(name, missing)
  })
  deps.log.info({ account: name, marked: marked.length }, 'activities marked to be fetched again')
  const counts = await fetchWanted(deps, input)
  await updateTimeZones(deps, input.account)
  return { marked: marked.length, ...counts }
}

/** Makes the error for paths that a person named and that an account does not have. */
export function unknownActivity(account: string, paths: readonly string[]): ConfigError {
  return new ConfigError(
    'unknown_activity',
    `account "${account}" has no activity ${paths.slice(0, 5).join(', ')} that the service lists; ` +
      'the paths are in: musette sql "select path from training.activities where absent_since is null"',
  )
}
