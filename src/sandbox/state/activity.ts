import type { RideKind } from '../athlete/efforts.ts'
import { expectedLoad, type PlannedActivity } from '../athlete/history.ts'
import type { Load, Standing } from '../athlete/loads.ts'
import { makeRandom } from '../athlete/random.ts'
import { type Body, makeSignature, type Signature, signatureAt } from '../athlete/signature.ts'
import type { Track } from '../athlete/track.ts'

export type Broken = 'html' | 'cut' | '500' | 'no-success' | 'success-false'

/** Where the samples come from: ridden on demand, or recorded in an uploaded file. */
export type Source =
  | { kind: 'ride'; ride: { kind: RideKind; running: boolean; indoor: boolean } }
  | { kind: 'file'; track: Track; sha256: string }

/** One activity as the service holds it. Times in ms by the service's clock. */
export type Activity = {
  path: string
  seed: string
  name: string
  description: string | null
  activityType: string
  zone: PlannedActivity['zone']
  startMs: number
  seconds: number
  source: Source
  load: Load
  standing: Standing
  signature: Signature
  previous: Signature
  /** The signature at the time; a recalculation changes `signature`, never how the legs felt. */
  riddenWith: Signature
  breakthrough: boolean
  updatedMs: number
  samplesAtMs: number
  /** From then on the list leaves it out, as the service does with duplicates it finds. */
  hiddenAtMs: number | null
  deletedMs: number | null
  scalePower: number
  summaryExtra: Record<string, unknown>
  sampleExtra: Record<string, number | string | null>
  broken: Broken | null
  revision: number
}

export type NewActivity = Pick<
  Activity,
  'path' | 'seed' | 'name' | 'description' | 'activityType' | 'zone' | 'startMs' | 'seconds' | 'source'
> & { updatedMs: number; samplesAtMs: number; before: Standing; after: (load: Load) => Standing; body: Body }

/** Makes an activity from what is known of it and where the rider stood before it. */
export function makeActivity(input: NewActivity): Activity {
  const { before, after, body, ...known } = input
  const kind = known.source.kind === 'ride' ? known.source.ride.kind : 'endurance'
  const load = expectedLoad({ kind, seconds: known.seconds })
  const standing = after(load)
  const breakthrough = kind !== 'recovery' && kind !== 'endurance' && makeRandom(known.seed, 'medal')() < 0.15
  const previous = signatureAt(body, before)
  const shown = signatureAt(body, standing)
  const signature = breakthrough
    ? makeSignature({ ...shown, ftp: shown.ftp * 1.015, hie: shown.hie * 1.02 })
    : shown
  return {
    ...known,
    load,
    standing,
    signature,
    previous,
    riddenWith: signature,
    breakthrough,
    hiddenAtMs: null,
    deletedMs: null,
    scalePower: 1,
    summaryExtra: {},
    sampleExtra: {},
    broken: null,
    revision: 0,
  }
}

/** Whether the list shows it now. */
export function isListed(activity: Activity, nowMs: number): boolean {
  return activity.deletedMs === null && (activity.hiddenAtMs === null || nowMs < activity.hiddenAtMs)
}

/** Whether the samples are ready now. */
export function hasSamples(activity: Activity, nowMs: number): boolean {
  return nowMs >= activity.samplesAtMs
}

/** Changes an activity; every change moves its update time. */
export function changeActivity(activity: Activity, change: Partial<Activity>, nowMs: number): void {
  Object.assign(activity, change, { updatedMs: nowMs, revision: activity.revision + 1 })
}
