import { isAbort, RateLimitedError, TransientError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import { findMirroredPath } from '../store/activities/wanted.ts'
import type { MirrorDeps } from './account.ts'

/** So many items in a row that fail in passing may be an outage and not those items' own trouble. */
export const OUTAGE_AFTER = 5

/**
 * Asks whether the service is away, or fails only for single objects, perhaps for several in a row: requests the activity list
 * with a window of no length, and then an activity that could be fetched before, or where there is none, one of `others`
 * (paths). Throws only when the signal aborts.
 */
export async function isOutage(
  deps: Pick<MirrorDeps, 'serviceOf' | 'store' | 'now'>,
  input: { account: Account; others?: readonly string[]; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const { account, others = [], signal } = input
  const service = deps.serviceOf(account)
  const now = deps.now()
  const answers = async (request: () => Promise<unknown>): Promise<boolean> => {
    try {
      await request()
      return true
    } catch (error) {
      if (isAbort(error, signal)) throw error
      return !(error instanceof TransientError || error instanceof RateLimitedError)
    }
  }
  if (!(await answers(() => service.listActivities({ from: now, to: now }, signal)))) return true
  const known = await deps.store.read((tx) => findMirroredPath(tx, account.accountId))
  const paths = known === undefined ? others : [known]
  for (const path of paths) {
    if (await answers(() => service.fetchActivity(path, { sessionData: false }, signal))) return false
  }
  return paths.length > 0
}
