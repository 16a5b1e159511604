import { isAbort } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import type { MirrorDeps } from './account.ts'

/** So many items in a row that fail in passing may be an outage and not those items' own trouble. */
export const OUTAGE_AFTER = 5

/**
 * Asks the activity list, with a window of no length, whether the service is away: it fails for single objects too, also for
 * several in a row. Throws only when the signal aborts.
 */
export async function isOutage(
  deps: Pick<MirrorDeps, 'serviceOf' | 'now'>,
  input: { account: Account; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const now = deps.now()
  try {
    await deps.serviceOf(input.account).listActivities({ from: now, to: now }, input.signal)
    return false
  } catch (error) {
    if (isAbort(error, input.signal)) throw error
    return true
  }
}
