import { DAY, MINUTE } from '../kit/time.ts'
import {
  type Body,
  bodyOf,
  type Load,
  type Loads,
  makeLoads,
  makeSignature,
  rest,
  type Signature,
  signatureAt,
  train,
} from './athlete/fitness-model.ts'
import { type Home, type PlannedActivity, planHistory } from './athlete/history.ts'
import { makeRandom } from './athlete/random.ts'
import type { Track } from './athlete/ride.ts'
import { expectedLoad } from './athlete/ride-kinds.ts'
import { loadOf, scoreTrack } from './athlete/score.ts'
import { datedWorkouts, OWN_WORKOUTS } from './athlete/workout-designs.ts'

export type Rider = ReturnType<typeof makeRider>

type SimulatedRide = Pick<PlannedActivity, 'kind' | 'running' | 'indoor'>

/** The source of the samples: a simulated ride, or the records of an uploaded file. */
type Source = { kind: 'ride'; ride: SimulatedRide } | { kind: 'file'; track: Track; sha256: string }

/** An activity without its rider's loads. Times are in ms by the service's clock. */
export type NewActivity = Omit<PlannedActivity, keyof SimulatedRide> & {
  /** whether the zone is always sent, whatever the setting */
  isZoneSent?: boolean
  /** where the activity begins, if it is outdoors */
  home: Home
  source: Source
  updatedMs: number
  samplesAtMs: number
}

/** An activity as the service stores it. */
export type Activity = NewActivity & {
  load: Load
  /** the rider's loads after the activity */
  loads: Loads
  signature: Signature
  previous: Signature
  /** the signature at the time of the ride; a recalculation changes `signature`, never the ride */
  riddenWith: Signature
  breakthrough: boolean
  /** when the activity stops being listed, as the service does with duplicates */
  hiddenAtMs: number | null
  deletedMs: number | null
  scalePower: number
  summaryExtra: Record<string, unknown>
  sampleExtra: Record<string, number | string | null>
  broken: 'html' | 'cut' | '500' | 'no-success' | 'success-false' | 'no-summary' | 'empty-summary' | null
  revision: number
}

const FIRST_SIGNATURE = 'No BT yet. Using first signature'

/** Makes a rider with a history that ends the day before `todayMs` (midnight UTC). */
export function makeRider(input: Parameters<typeof planHistory>[0] & { username: string; password: string }) {
  const { username, password, todayMs, home } = input
  const body = bodyOf(input.seed)
  const prefix = username === 'rider' ? 'own' : `o${username.slice(0, 2)}`
  const workouts = datedWorkouts(OWN_WORKOUTS, todayMs - 30 * DAY)
  for (const workout of workouts) workout.path = workout.path.replace('own', prefix)
  const activities = new Map<string, Activity>()
  const plans = planHistory(input).sort((a, b) => a.startMs - b.startMs)
  let loads = makeLoads(body.daily)
  let atMs = plans[0]?.startMs ?? todayMs
  for (const { kind, running, indoor, ...known } of plans) {
    const endMs = known.startMs + known.seconds * 1_000
    const activity = makeActivity(body, rest(loads, known.startMs - atMs), {
      ...known,
      home,
      source: { kind: 'ride', ride: { kind, running, indoor } },
      updatedMs: Math.min(endMs + 2 * MINUTE, todayMs),
      samplesAtMs: endMs,
    })
    // As in 118 of 2,770 recorded activities, all of them early; few signatures are set by a rider.
    if (activities.size < Math.floor(plans.length / 25))
      activity.summaryExtra = { sig: { error: FIRST_SIGNATURE } }
    else if (makeRandom(known.seed, 'manual')() < 0.01) activity.summaryExtra = { sig: { manual: true } }
    loads = activity.loads
    atMs = known.startMs
    activities.set(activity.path, activity)
  }
  return { username, home, password, body, activities, workouts }
}

/** Adds an activity; its loads are computed from earlier activities. */
export function addActivity(rider: Rider, input: NewActivity): Activity {
  const activity = makeActivity(rider.body, loadsAt(rider, input.startMs), input)
  rider.activities.set(activity.path, activity)
  return activity
}

function makeActivity(body: Body, before: Loads, input: NewActivity): Activity {
  const kind = input.source.kind === 'ride' ? input.source.ride.kind : 'endurance'
  const load =
    input.source.kind === 'file'
      ? loadOf(scoreTrack(input.source.track, signatureAt(body, before)))
      : expectedLoad({ kind, seconds: input.seconds })
  const loads = train(before, load)
  const breakthrough = kind !== 'recovery' && kind !== 'endurance' && makeRandom(input.seed, 'medal')() < 0.15
  const expected = signatureAt(body, loads)
  const signature = breakthrough
    ? makeSignature({ ...expected, ftp: expected.ftp * 1.015, hie: expected.hie * 1.02 })
    : expected
  return {
    ...input,
    load,
    loads,
    signature,
    previous: signatureAt(body, before),
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

/** Returns the rider's loads at a moment, from every activity that is listed then. */
export function loadsAt(rider: Rider, atMs: number): Loads {
  const past = [...rider.activities.values()]
    .filter((activity) => activity.startMs <= atMs && isListed(activity, atMs))
    .sort((a, b) => a.startMs - b.startMs)
  let loads = makeLoads(rider.body.daily)
  let lastMs = past[0]?.startMs ?? atMs
  for (const activity of past) {
    loads = train(rest(loads, activity.startMs - lastMs), activity.load)
    lastMs = activity.startMs
  }
  return rest(loads, atMs - lastMs)
}

export function riderSignature(rider: Rider, atMs: number): Signature {
  return signatureAt(rider.body, loadsAt(rider, atMs))
}

export function isListed(activity: Activity, nowMs: number): boolean {
  return activity.deletedMs === null && (activity.hiddenAtMs === null || nowMs < activity.hiddenAtMs)
}

export function hasSamples(activity: Activity, nowMs: number): boolean {
  return nowMs >= activity.samplesAtMs
}

/** Changes an activity; every change sets its update time. */
export function changeActivity(activity: Activity, change: Partial<Activity>, nowMs: number): void {
  Object.assign(activity, change, { updatedMs: nowMs, revision: activity.revision + 1 })
}
