import { z } from 'zod'
import { DAY } from '../../kit/time.ts'
import { json, type Reply, refuse } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params } from '../http/router.ts'
import { expireAccess, revokeAll } from '../oauth/grants.ts'
import { makeCounts } from '../state/counts.ts'
import { faultSchema } from '../state/faults.ts'
import { makeRider } from '../state/rider.ts'
import { settingsSchema } from '../state/settings.ts'
import { findWorkout, type World } from '../state/world.ts'
import { readSteering } from './read-steering.ts'

const riderSchema = z.strictObject({
  username: z.string().min(1),
  password: z.string().min(1),
  activities: z.number().int().nonnegative().default(0),
  seed: z.number().int().default(7),
})

const workoutSchema = z.strictObject({
  name: z.string().nullable().optional(),
  description: z.string().optional(),
  deleted: z.boolean().optional(),
})

/** Answers with what has been counted. */
export function answerCounts(world: World): Reply {
  return json(200, world.counts)
}

/** Starts counting from nothing. */
export function resetCounts(world: World): Reply {
  world.counts = makeCounts()
  return json(200, world.counts)
}

/** Answers with the settings. */
export function answerSettings(world: World): Reply {
  return json(200, world.settings)
}

/** Changes the settings that are named. */
export async function patchSettings(world: World, request: Request): Promise<Reply> {
  Object.assign(world.settings, await readSteering(request, settingsSchema.partial()))
  return json(200, world.settings)
}

/** Answers with the planned failures and how often each has hit. */
export function answerFaults(world: World): Reply {
  return json(200, { faults: world.faults })
}

/** Plans a failure of coming requests. */
export async function planFault(world: World, request: Request): Promise<Reply> {
  const planned = await readSteering(request, faultSchema)
  const fault = { ...planned, id: (world.faults.at(-1)?.id ?? 0) + 1, hits: 0 }
  world.faults.push(fault)
  return json(201, fault)
}

/** Forgets every planned failure. */
export function clearFaults(world: World): Reply {
  return json(200, { cleared: world.faults.splice(0).length })
}

/** Every token this service has given out: a test looks for them where they must not be. */
export function answerTokens(world: World): Reply {
  return json(200, { access: [...world.grants.access.keys()], refresh: [...world.grants.refresh.keys()] })
}

/** Ends every access token now. */
export function expireTokens(world: World): Reply {
  return json(200, { expired: expireAccess(world.grants) })
}

/** Ends every grant. */
export function revokeTokens(world: World): Reply {
  return json(200, { revoked: revokeAll(world.grants) })
}

/** Adds a rider, or gives a known one another password. */
export async function putRider(world: World, request: Request): Promise<Reply> {
  const { username, password, activities, seed } = await readSteering(request, riderSchema)
  const known = world.riders.get(username)
  if (known) known.password = password
  else {
    const todayMs = Math.floor(world.now().getTime() / DAY) * DAY
    world.riders.set(username, makeRider({ username, password, seed, activities, todayMs }))
  }
  return json(known ? 200 : 201, { username, activities: world.riders.get(username)?.activities.size })
}

/** Edits, deletes or revives a workout; every edit moves its `last_modified`. */
export async function patchWorkout(world: World, request: Request, params: Params): Promise<Reply> {
  const riders = [...world.riders.values()]
  const all = [...world.defaultWorkouts, ...riders.flatMap((rider) => rider.workouts)]
  const workout = findWorkout(world, params.path ?? '') ?? all.find(({ path }) => path === params.path)
  if (!workout) return refuse(404, 'no such workout')
  const patch = await readSteering(request, workoutSchema)
  Object.assign(workout, patch, { modifiedMs: world.now().getTime() })
  return json(200, workout)
}
