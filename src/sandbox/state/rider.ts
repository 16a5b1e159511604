import { MINUTE } from '../../kit/time.ts'
import { planHistory } from '../athlete/history.ts'
import { type Load, makeStanding, rest, type Standing, train } from '../athlete/loads.ts'
import { type Body, type Signature, signatureAt } from '../athlete/signature.ts'
import { makeOwnWorkouts, type Workout } from '../workouts/designs.ts'
import { type Activity, isListed, makeActivity, type NewActivity } from './activity.ts'

export type Rider = {
  username: string
  password: string
  seed: number
  body: Body
  activities: Map<string, Activity>
  workouts: Workout[]
}

/** Makes a rider with a history that ends the day before `todayMs` (midnight UTC). */
export function makeRider(input: {
  username: string
  password: string
  seed: number
  activities: number
  todayMs: number
}): Rider {
  const { username, password, seed, todayMs } = input
  const rider: Rider = {
    username,
    password,
    seed,
    body: makeBody(seed),
    activities: new Map(),
    workouts: makeOwnWorkouts({ username, todayMs }),
  }
  let standing = makeStanding(rider.body.daily)
  const plans = planHistory({ seed, count: input.activities, todayMs })
  let at = plans[0]?.startMs ?? todayMs
  for (const plan of plans) {
    const { kind, running, indoor, ...known } = plan
    const endMs = plan.startMs + plan.seconds * 1_000
    const before = rest(standing, plan.startMs - at)
    const activity = makeActivity({
      ...known,
      source: { kind: 'ride', ride: { kind, running, indoor } },
      updatedMs: Math.min(endMs + 2 * MINUTE, todayMs),
      samplesAtMs: endMs,
      before,
      after: (load) => train(before, load),
      body: rider.body,
    })
    standing = activity.standing
    at = plan.startMs
    rider.activities.set(activity.path, activity)
  }
  return rider
}

/** Adds an activity where the rider stands at its start. */
export function addActivity(rider: Rider, input: Omit<NewActivity, 'before' | 'after' | 'body'>): Activity {
  const before = standingAt(rider, input.startMs)
  const after = (load: Load) => train(before, load)
  const activity = makeActivity({ ...input, before, after, body: rider.body })
  rider.activities.set(activity.path, activity)
  return activity
}

/** Where the rider stands at a moment, from every activity listed then. */
export function standingAt(rider: Rider, atMs: number): Standing {
  const past = [...rider.activities.values()]
    .filter((activity) => activity.startMs <= atMs && isListed(activity, atMs))
    .sort((a, b) => a.startMs - b.startMs)
  let standing = makeStanding(rider.body.daily)
  let at = past[0]?.startMs ?? atMs
  for (const activity of past) {
    standing = train(rest(standing, activity.startMs - at), activity.load)
    at = activity.startMs
  }
  return rest(standing, atMs - at)
}

/** The rider's signature at a moment. */
export function riderSignature(rider: Rider, atMs: number): Signature {
  return signatureAt(rider.body, standingAt(rider, atMs))
}

function makeBody(seed: number): Body {
  const size = 1 + ((Math.abs(seed) % 7) - 3) * 0.04
  return {
    weightKg: Math.round(720 * size) / 10,
    base: { ftp: 256 * size, ltp: 204 * size, hie: 21.5 * size, pp: 1_085 * size },
    daily: { low: 14, high: 0.8, peak: 0.1 },
  }
}
