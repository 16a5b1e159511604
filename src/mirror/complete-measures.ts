import { normalizeMeasures } from '../normalize/measures/measures.ts'
import { replaceMeasures } from '../store/samples/measures-rows.ts'
import { findStoredSamples } from '../store/samples/stored-samples.ts'
import { findUnmeasured, lockUnmeasured } from '../store/samples/unmeasured.ts'
import type { MirrorDeps } from './mirror.ts'

/**
 * Computes the measures of all activities that have samples and none, as an older version left them, from the samples in the
 * database: without the service, and without a stored answer. One transaction for each activity. Returns how many it measured;
 * throws TransientError when the database is unreachable, and the signal's reason.
 */
export async function completeMeasures(
  { store, log }: Pick<MirrorDeps, 'store' | 'log'>,
  signal?: AbortSignal,
): Promise<number> {
  const activityIds = await store.read(findUnmeasured)
  if (activityIds.length > 0) log.info({ activities: activityIds.length }, 'activities are measured')
  let measured = 0
  for (const activityId of activityIds) {
    signal?.throwIfAborted()
    const done = await store.transaction(async (tx) => {
      const known = await lockUnmeasured(tx, activityId)
      if (!known) return false
      const measures = normalizeMeasures(await findStoredSamples(tx, activityId), known.ftp)
      if (measures) await replaceMeasures(tx, [{ activityId, measures }], [])
      return measures !== undefined
    })
    if (done) measured++
  }
  return measured
}
