import { deriveContent } from '../normalize/activity-answer.ts'
import { elapsedSeconds } from '../normalize/activity-row.ts'
import { updateActivities } from '../store/activities/activity-changes.ts'
import { replaceContent } from '../store/samples/replace-content.ts'
import { findStoredSamples } from '../store/samples/stored-samples.ts'
import { findUnmeasured, lockUnmeasured } from '../store/samples/unmeasured.ts'
import type { MirrorDeps } from './mirror.ts'

/**
 * Derives anew what activities have of their samples (main run, power curve, seconds in zones, measures) where an older version left
 * it out or computed it otherwise, from the samples in the database: without the service, and without a stored answer. One transaction for each activity. Returns how many it completed;
 * throws TransientError when the database is unreachable, and the signal's reason.
 */
export async function completeMeasures(
  { store, log }: Pick<MirrorDeps, 'store' | 'log'>,
  signal?: AbortSignal,
): Promise<number> {
  const activityIds = await store.read(findUnmeasured)
  if (activityIds.length > 0)
    log.info({ activities: activityIds.length }, 'computing derived values from the samples')
  let measured = 0
  for (const activityId of activityIds) {
    signal?.throwIfAborted()
    const done = await store.transaction(async (tx) => {
      const known = await lockUnmeasured(tx, activityId)
      if (!known) return false
      const samples = await findStoredSamples(tx, activityId)
      const { main, run, place, ...derived } = deriveContent(samples, known)
      // Samples without any time have no run.
      const straySamples = run.straySamples ?? 0
      const ofRun = straySamples > 0 && { elapsedS: elapsedSeconds(main), ...place }
      await updateActivities(tx, [{ activityId, ...run, straySamples, ...ofRun }])
      await replaceContent(tx, [{ activityId, samples, ...derived, hasContent: true, keepsSamples: true }])
      return true
    })
    if (done) measured++
  }
  return measured
}
