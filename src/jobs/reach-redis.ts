import { connectReason, isNotUpYet, TransientError } from '../kit/errors.ts'
import { joinSignals } from '../kit/time.ts'
import { fetchRedisFacts, REPLICA } from './backend.ts'

/**
 * Connects to Redis once. Returns undefined when it answers and has loaded its data, or in a few words why it is not up yet. Throws
 * TransientError `queue_unreachable` for what time does not mend, such as a wrong password, and the signal's reason at once when it
 * aborts.
 */
export async function fetchWhyRedisIsDown(
  url: string,
  { signal, withinMs }: { signal: AbortSignal; withinMs: number },
): Promise<string | undefined> {
  signal.throwIfAborted()
  const ended = joinSignals([signal], withinMs)
  try {
    const { isLoading, isReplica } = await fetchRedisFacts(url, ended.signal)
    if (isReplica) return REPLICA.found
    return isLoading ? 'it loads its data' : undefined
  } catch (error) {
    signal.throwIfAborted()
    if (ended.isOver()) return 'no answer'
    const cause = error instanceof TransientError ? error.cause : error
    if (isNotUpYet(cause)) return connectReason(cause)
    throw error
  } finally {
    ended.clear()
  }
}
