import type { Tx } from '../store.ts'
import type { ActivitySamples } from './encode-samples.ts'
import { replaceSampleExtras, type SampleExtra } from './sample-extras.ts'
import {
  deleteDerived,
  deleteSamples,
  type Intensity,
  insertPowerCurves,
  insertSamples,
  type PowerCurve,
  upsertIntensities,
} from './write-samples.ts'

/** The samples of one activity with everything that is derived from them. */
export type Content = ActivitySamples & {
  readonly sampleExtras?: readonly SampleExtra[] | undefined
  readonly powerCurve?: PowerCurve | undefined
  readonly intensity?: Intensity | undefined
}

/**
 * Writes the content of activities in place of their earlier one. `hasContent` is false where there is none to delete; with
 * `keepsSamples` the samples are right already, and only the rest is written. The rows of the activities must be locked.
 */
export async function replaceContent(
  tx: Tx,
  activities: ReadonlyArray<Content & { hasContent: boolean; keepsSamples?: boolean }>,
): Promise<void> {
  const known = activities.filter(({ hasContent }) => hasContent)
  const rewritten = activities.filter(({ keepsSamples }) => !keepsSamples)
  await deleteSamples(
    tx,
    known.filter(({ keepsSamples }) => !keepsSamples).map(({ activityId }) => activityId),
  )
  await deleteDerived(
    tx,
    known.map(({ activityId }) => activityId),
  )
  await insertSamples(tx, rewritten)
  await insertPowerCurves(
    tx,
    activities.flatMap(({ activityId, powerCurve: curve }) => (curve ? [{ activityId, curve }] : [])),
  )
  await upsertIntensities(
    tx,
    activities.flatMap(({ activityId, intensity }) => (intensity ? [{ activityId, intensity }] : [])),
  )
  await replaceSampleExtras(
    tx,
    activities.map(({ activityId, sampleExtras: extras = [] }) => ({ activityId, extras })),
  )
}
