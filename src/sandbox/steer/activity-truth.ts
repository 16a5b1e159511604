import { makeListEntry } from '../api/activities.ts'
import { makeActivityDetail } from '../api/activity-body.ts'
import { type Activity, hasSamples, isListed } from '../state/activity.ts'
import type { World } from '../state/world.ts'

/** Everything true of an activity that the service's own answers keep to themselves. */
export function makeTruth(activity: Activity, rider: string, nowMs: number) {
  return {
    ...makeListEntry(activity, 'rider'),
    rider,
    started_at: new Date(activity.startMs).toISOString(),
    updated_at: new Date(activity.updatedMs).toISOString(),
    updated_unix: activity.updatedMs / 1_000,
    listed: isListed(activity, nowMs),
    deleted: activity.deletedMs !== null,
    hidden: activity.deletedMs === null && !isListed(activity, nowMs),
    has_samples: hasSamples(activity, nowMs),
    sample_count: sampleCount(activity, nowMs),
    uploaded: activity.source.kind === 'file',
    revision: activity.revision,
    broken: activity.broken,
  }
}

/** The truth of every activity of every rider, newest first, deleted ones too. */
export function listTruths(world: World) {
  const nowMs = world.now().getTime()
  return [...world.riders.values()]
    .flatMap((rider) => [...rider.activities.values()].map((activity) => ({ rider, activity })))
    .sort((a, b) => b.activity.startMs - a.activity.startMs)
    .map(({ rider, activity }) => makeTruth(activity, rider.username, nowMs))
}

/** The truth of one activity with the detail that is served when nothing is broken. */
export function makeTruthWithDetail(world: World, activity: Activity, rider: string) {
  const nowMs = world.now().getTime()
  const texts = world.settings.number_texts
  return {
    ...makeTruth(activity, rider, nowMs),
    detail: makeActivityDetail(activity, { nowMs, withSamples: true, texts }),
  }
}

function sampleCount(activity: Activity, nowMs: number): number {
  if (!hasSamples(activity, nowMs)) return 0
  return activity.source.kind === 'file' ? activity.source.track.unixMs.length : activity.seconds
}
