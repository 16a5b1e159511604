import type { Tx } from '../store.ts'
import { type Measures, replaceMeasures } from './measures-rows.ts'
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
  readonly measures?: Measures | undefined
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
  const curved = await replacePowerCurves(
    tx,
    activities.flatMap(({ activityId, powerCurve: curve }) => (curve ? [{ activityId, curve }] : [])),
    knownIds,
  )
  await replaceIntensities(
    tx,
    activities.flatMap(({ activityId, intensity }) => (intensity ? [{ activityId, intensity }] : [])),
    knownIds,
  )
  await replaceMeasures(
    tx,
    activities.flatMap(({ activityId, measures }) => (measures ? [{ activityId, measures }] : [])),
    knownIds,
  )
  await moveVersions(tx, [...new Set([...rewritten.map(({ activityId }) => activityId), ...curved])])
}

/**
 * Gives activities whose samples, extras or curve were rewritten a version that no activity of any database has had: two databases
 * that were restored from one backup go on from the same numbers, but not from the same random ones.
 */
async function moveVersions(tx: Tx, activityIds: readonly number[]): Promise<void> {
  if (activityIds.length === 0) return
  await tx.client.query(
    `INSERT INTO musette.content_versions (activity_id, version) SELECT id, gen_random_uuid() FROM unnest($1::int[]) AS id
     ON CONFLICT (activity_id) DO UPDATE SET version = excluded.version`,
    [activityIds],
  )
}
