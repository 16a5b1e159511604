import { z } from 'zod'
import { DAY, SECOND } from '../kit/time.ts'
import { type Home, homeIn } from './athlete/history.ts'
import { makeRandom } from './athlete/random.ts'
import { DEFAULT_WORKOUTS, datedWorkouts, type Workout } from './athlete/workout-designs.ts'
import type { Fault } from './http/faults.ts'
import type { GrantBook } from './oauth/grant-book.ts'
import { clientsOf, type RegisteredClient } from './oauth/grant-book.ts'
import { makeRider, type Rider } from './rider.ts'

/** The state of one sandbox, in memory only. */
export type World = ReturnType<typeof newWorld>

export type WorldOptions = {
  /** how many activities the first rider has */
  activities?: number
  /** the longest activity of a rider's history, s; three hours by default */
  longestActivitySeconds?: number | undefined
  /** the same seed on the same day gives the same history */
  seed?: number
  /** how long after an upload the samples are ready, ms */
  sampleDelayMs?: number
  accessTokenSeconds?: number
  /** the time zone of the first rider's home */
  home?: string | undefined
  /** clients in addition to the public client and the demo application */
  clients?: readonly RegisteredClient[]
  now?: () => Date
  /** makes answers contain only what the service document defines; called once for each kind of a client's deviation */
  strict?: ((deviation: string) => void) | undefined
}

/** The number of activities of the second rider, whose history is small. */
const SECOND_ACTIVITIES = 12
/** On a different continent than the first rider's home. */
const SECOND_HOME = 'Pacific/Auckland'

/** Makes a new world: both riders with their histories up to yesterday, no grants, no faults. Throws ConfigError `sandbox_home`. */
export function newWorld(options: WorldOptions) {
  const { activities = 150, longestActivitySeconds = Number.POSITIVE_INFINITY, seed = 1 } = options
  const { clients = [], now = () => new Date() } = options
  const settings = settingsSchema.parse({
    sample_delay_ms: options.sampleDelayMs,
    access_token_seconds: options.accessTokenSeconds,
    ...(options.strict && { workout_dialect: 'document' }),
  })
  const todayMs = Math.floor(now().getTime() / DAY) * DAY
  const rider = (username: string, seed: number, count: number, home: Home) => {
    const history = { seed, count, longestActivitySeconds, todayMs, home }
    return [username, makeRider({ username, password: username, ...history })] as const
  }
  return {
    now: () => new Date(now().getTime() + settings.clock_skew_ms),
    settings,
    /** the longest activity of a rider's history, s */
    longestActivitySeconds,
    riders: new Map<string, Rider>([
      rider('rider', seed, activities, homeIn(options.home)),
      rider('second', seed + 1_000, Math.min(activities, SECOND_ACTIVITIES), homeIn(SECOND_HOME)),
    ]),
    defaultWorkouts: datedWorkouts(DEFAULT_WORKOUTS, todayMs - 400 * DAY),
    clients: clientsOf(clients),
    grants: {
      grants: new Map(),
      codes: new Map(),
      access: new Map(),
      refresh: new Map(),
    } satisfies GrantBook,
    /** riders signed in with a browser, by session cookie */
    sessions: new Map<string, { username: string; csrf: string }>(),
    counts: makeCounts(),
    faults: [] as Fault[],
    strict: options.strict,
    /** what clients did beyond the document, and how often */
    deviations: new Map<string, number>(),
    /** bodies that were written lately, so that the same answer is not written twice */
    bodies: { kept: new Map<string, Buffer>(), bytes: 0 },
    random: makeRandom(seed, 'faults'),
  }
}

export function findActivity(world: World, path: string) {
  for (const rider of world.riders.values()) {
    const activity = rider.activities.get(path)
    if (activity) return { rider, activity }
  }
  return undefined
}

/** Lists the default workouts and every rider's own workouts, including deleted ones. */
export function listWorkouts(world: World): Workout[] {
  return [...world.defaultWorkouts, ...[...world.riders.values()].flatMap((rider) => rider.workouts)]
}

/** Finds a workout by its path, unless it is deleted. */
export function findWorkout(world: World, path: string): Workout | undefined {
  return listWorkouts(world).find((workout) => workout.path === path && !workout.deleted)
}

const count = z.number().int().positive()

/** Settings of the sandbox's behaviour (PATCH /_sandbox/settings). Times are in ms unless noted otherwise. */
export const settingsSchema = z.strictObject({
  /** how many of the newest activities the list keeps; null for all */
  list_cap: count.nullable().default(null),
  /** start dates: `utc`: in UTC, as in every published answer; `detail`: in UTC in the list and with a zone in the detail; `zone`: with a zone in both */
  dates: z.enum(['utc', 'detail', 'zone']).default('utc'),
  /** how long after an upload the samples are ready */
  sample_delay_ms: z.number().int().nonnegative().default(2_000),
  /** the answer to a second upload of the same bytes: a second path that vanishes after the delay, a refusal, or the first path */
  duplicate_uploads: z.enum(['twin', 'refuse', 'same-path']).default('twin'),
  /** whether a second use of a refresh token revokes the grant */
  reuse_revokes_grant: z.boolean().default(false),
  /** a week by default (service document, Limits) */
  access_token_seconds: count.default((7 * DAY) / SECOND),
  /** lifetime of a refresh token; two weeks is the default of the service's library */
  refresh_token_seconds: count.default((14 * DAY) / SECOND),
  /** shifts the Date header and every time of the service */
  clock_skew_ms: z.number().int().default(0),
  /** the delay of every answer */
  latency_ms: z.number().int().nonnegative().default(0),
  /** whether power and distance are strings in every tenth sample */
  number_texts: z.boolean().default(false),
  /** the fields of entries in the workout lists: the service document's fields, the fields of published captures (no `last_modified`), or both */
  workout_dialect: z.enum(['both', 'document', 'capture']).default('both'),
  /** the type of the workout of the day; `auto` follows the day of the week */
  wotd_type: z.enum(['auto', 'None', 'Forecast', 'Scheduled']).default('auto'),
})

export type Settings = z.infer<typeof settingsSchema>

/** Makes the counts of requests from now on; requests are counted by method and route pattern. */
export function makeCounts() {
  return {
    requests: {} as Record<string, number>,
    uploads: { accepted: 0, refused: 0 },
    tokens: { password: 0, refresh_token: 0, authorization_code: 0, rejected: 0 },
    faults: 0,
  }
}

/** The most bytes of cached bodies: about thirty rides with samples, small compared to the process. */
const MAX_CACHED_BYTES = 48 * 1024 * 1024

/** Returns the cached body of a key, or makes and caches it; the oldest bodies are removed to make space. */
export function cachedBody({ bodies }: World, key: string, write: () => string): Buffer {
  const known = bodies.kept.get(key)
  if (known) return known
  const body = Buffer.from(write())
  for (const [oldest, old] of bodies.kept) {
    if (bodies.bytes + body.length <= MAX_CACHED_BYTES) break
    bodies.kept.delete(oldest)
    bodies.bytes -= old.length
  }
  bodies.kept.set(key, body)
  bodies.bytes += body.length
  return body
}
