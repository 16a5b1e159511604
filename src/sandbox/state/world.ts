import { DAY } from '../../kit/time.ts'
import { makeRandom, type Random } from '../athlete/random.ts'
import { type Client, type FurtherClient, makeClients } from '../oauth/clients.ts'
import { type GrantBook, makeGrantBook } from '../oauth/grants.ts'
import { makeDefaultWorkouts, type Workout } from '../workouts/designs.ts'
import type { Activity } from './activity.ts'
import { type Bodies, makeBodies } from './bodies.ts'
import { type Counts, makeCounts } from './counts.ts'
import type { Fault } from './faults.ts'
import { makeRider, type Rider } from './rider.ts'
import { makeSettings, type Settings } from './settings.ts'

/** Everything one sandbox knows; nothing outlives it. */
export type World = {
  now: () => Date
  todayMs: number
  settings: Settings
  riders: Map<string, Rider>
  defaultWorkouts: Workout[]
  clients: readonly Client[]
  grants: GrantBook
  /** Riders signed in with a browser, by session cookie. */
  sessions: Map<string, { username: string; csrf: string }>
  counts: Counts
  faults: Fault[]
  bodies: Bodies
  random: Random
}

export type WorldOptions = {
  activities: number
  seed: number
  sampleDelayMs: number
  accessTokenSeconds: number
  clients: readonly FurtherClient[]
  now: () => Date
}

/** The second rider's history is small. */
const SECOND_ACTIVITIES = 12

/** Makes a world: both riders with their histories up to yesterday, no grants, no faults. */
export function makeWorld(options: WorldOptions): World {
  const settings = makeSettings(options)
  const todayMs = Math.floor(options.now().getTime() / DAY) * DAY
  const rider = (username: string, seed: number, activities: number) =>
    [username, makeRider({ username, password: username, seed, activities, todayMs })] as const
  return {
    now: () => new Date(options.now().getTime() + settings.clock_skew_ms),
    todayMs,
    settings,
    riders: new Map([
      rider('rider', options.seed, options.activities),
      rider('second', options.seed + 1_000, Math.min(options.activities, SECOND_ACTIVITIES)),
    ]),
    defaultWorkouts: makeDefaultWorkouts(todayMs),
    clients: makeClients(options.clients),
    grants: makeGrantBook(),
    sessions: new Map(),
    counts: makeCounts(),
    faults: [],
    bodies: makeBodies(),
    random: makeRandom(options.seed, 'faults'),
  }
}

/** Finds an activity of any rider by its path. */
export function findActivity(world: World, path: string): { rider: Rider; activity: Activity } | undefined {
  for (const rider of world.riders.values()) {
    const activity = rider.activities.get(path)
    if (activity) return { rider, activity }
  }
  return undefined
}

/** Finds a workout by its path: the default ones and every rider's own. */
export function findWorkout(world: World, path: string): Workout | undefined {
  const all = [...world.defaultWorkouts, ...[...world.riders.values()].flatMap((rider) => rider.workouts)]
  return all.find((workout) => workout.path === path && !workout.deleted)
}
