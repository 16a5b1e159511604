import { errorLine, UnexpectedResponseError } from '../../kit/errors.ts'
import { countByState } from '../../store/activities/counts.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { patiently } from '../patiently.ts'
import { type FetchWantedInput, fetchWanted } from './fetch-wanted.ts'
import { pollActivities } from './poll.ts'
import { type ReconcileResult, reconcileActivities } from './reconcile.ts'

export type PassCounts = {
  listed: number
  fetched: number
  unchanged: number
  absent: number
  /** activities whose last answer could not be used, in this pass or before, and what could not be listed */
  failed: number
  /** known changes that are not mirrored yet, such as samples that the service has not made */
  pending: number
  /** what the first failure of this pass said */
  reason?: string
}

export type PassInput = FetchWantedInput & {
  /** compares the whole list with the mirror, too */
  full?: boolean
  /** takes a list's word even when most of the activities are missing in it */
  acceptRemovals?: boolean
}

/**
 * Mirrors an account in one pass without a queue: polls the list, with `full` reconciles, then fetches every wanted
 * activity, newest first, until none is due. A list that reconcile does not trust is named in the log and
 * counted as failed, and the rest goes on; an outage ends the pass.
 */
export async function syncActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: PassInput,
): Promise<PassCounts> {
  const { accountId } = input.account
  const poll = await patiently(deps, () => pollActivities(deps, options, input))
  const whole = input.full ? await reconcile(deps, options, input) : undefined
  const fetched = await fetchWanted(deps, options, input)
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const refused = whole === 'refused' ? 1 : 0
  const reconciled = whole === 'refused' ? undefined : whole
  return {
    listed: reconciled?.listed ?? poll.listed,
    fetched: fetched.fetched,
    unchanged: fetched.unchanged,
    absent: reconciled?.absent ?? 0,
    failed: states.failed + Math.max(poll.bad, refused),
    pending: states.wanted + states.awaiting_samples,
    ...(fetched.reason !== undefined && { reason: fetched.reason }),
  }
}

async function reconcile(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: PassInput,
): Promise<ReconcileResult | 'refused'> {
  try {
    return await reconcileActivities(deps, options, input)
  } catch (error) {
    if (!(error instanceof UnexpectedResponseError)) throw error
    deps.log.error({ account: input.account.name, code: error.code }, errorLine(error))
    return 'refused'
  }
}
