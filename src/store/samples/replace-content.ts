import type { Tx } from '../store.ts'
import { replaceSampleExtras, type SamplesWithExtras } from './sample-extras.ts'
import {
  deleteSamples,
  type Intensity,
  insertSamples,
  type PowerCurve,
  replaceIntensities,
  replacePowerCurves,
} from './write-samples.ts'

/** The samples of one activity with everything that is derived from them. */
export type Content = SamplesWithExtras & {
  readonly powerCurve?: PowerCurve | undefined
  readonly intensity?: Intensity | undefined
}

/**
 * Writes the content of activities in place of their earlier one. `hasContent` is false where there is none to delete; with
 * `keepsSamples` the samples and their extras are right already, and only the rest is written. The rows of the activities must be locked.
 */
export async function replaceContent(
  tx: Tx,
  activities: ReadonlyArray<Content & { hasContent: boolean; keepsSamples?: boolean }>,
): Promise<void> {
  const known = activities.filter(({ hasContent }) => hasContent)
  const knownIds = known.map(({ activityId }) => activityId)
  const rewritten = activities.filter(({ keepsSamples }) => !keepsSamples)
  await deleteSamples(
    tx,
    known.filter(({ keepsSamples }) => !keepsSamples).map(({ activityId }) => activityId),
  )
  await insertSamples(tx, rewritten)
  await replaceSampleExtras(tx, rewritten)
  await replacePowerCurves(
    tx,
    activities.flatMap(({ activityId, powerCurve: curve }) => (curve ? [{ activityId, curve }] : [])),
    knownIds,
  )
  await replaceIntensities(
    tx,
    activities.flatMap(({ activityId, intensity }) => (intensity ? [{ activityId, intensity }] : [])),
    knownIds,
  )
}
