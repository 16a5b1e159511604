import { z } from 'zod'
import { isObject } from '../../kit/json.ts'
import { DAY } from '../../kit/time.ts'
import { homeIn } from '../athlete/history.ts'
import { faultSchema } from '../http/faults.ts'
import type { Params, Route } from '../http/http-server.ts'
import { json, type Reply, refuse } from '../http/reply.ts'
import { type Request, readChecked } from '../http/request.ts'
import { expireAccess, revokeAll } from '../oauth/grant-book.ts'
import { makeRider } from '../rider.ts'
import { listWorkouts, makeCounts, settingsSchema, type World } from '../world.ts'
import * as activities from './steer-activities.ts'

const ALL = '/_sandbox/activities'
const ONE = `${ALL}/:path`
/** Lists the fields of a body. */
const fieldsOf = ({ shape }: z.ZodObject) => `{${Object.keys(shape).join(', ')}}`

const riderSchema = z.strictObject({
  username: z.string().min(1),
  password: z.string().min(1),
  activities: z.number().int().nonnegative().default(0),
  seed: z.number().int().default(7),
  /** the time zone of one of the homes */
  home: z.string().optional(),
})

const workoutSchema = z.strictObject({
  name: z.string().nullable().optional(),
  description: z.string().optional(),
  deleted: z.boolean().optional(),
})

function steer(method: string, pattern: string, about: string, answer: Route['answer']): Route {
  return { method, pattern, about, answer }
}

/** The routes with which tests steer the sandbox: JSON, no token. */
export const STEERING_ROUTES: readonly Route[] = [
  steer('GET', '/_sandbox/', 'this table', describe),
  steer('GET', '/_sandbox/counts', 'requests by route, uploads, tokens', (world) => json(200, world.counts)),
  steer(
    'GET',
    '/_sandbox/deviations',
    'with --strict: what clients did beyond the document, and how often',
    (world) =>
      json(200, { strict: world.strict !== undefined, deviations: Object.fromEntries(world.deviations) }),
  ),
  steer('POST', '/_sandbox/counts/reset', 'start counting again', (world) => {
    world.counts = makeCounts()
    return json(200, world.counts)
  }),
  steer('GET', ALL, 'the true state of every activity, including deleted ones', activities.answerTruths),
  steer('GET', ONE, 'the true state of an activity, with its detail', activities.answerTruth),
  steer('POST', ALL, `add an activity ${fieldsOf(activities.newActivitySchema)}`, activities.createActivity),
  steer(
    'PATCH',
    ONE,
    `edit an activity ${fieldsOf(activities.patchActivitySchema)}`,
    activities.editActivity,
  ),
  steer('DELETE', ONE, 'delete an activity; the list no longer has it', activities.deleteActivity),
  steer('POST', `${ONE}/revive`, 'bring a deleted or hidden activity back', activities.reviveActivity),
  steer('POST', '/_sandbox/recalculate', 'change every activity at once', activities.recalculate),
  steer('GET', '/_sandbox/settings', 'the settings', (world) => json(200, world.settings)),
  steer('PATCH', '/_sandbox/settings', 'change settings', patchSettings),
  steer('GET', '/_sandbox/faults', 'planned failures and how often they hit', ({ faults }) =>
    json(200, { faults }),
  ),
  steer('POST', '/_sandbox/faults', `plan a failure ${fieldsOf(faultSchema)}`, planFault),
  steer('DELETE', '/_sandbox/faults', 'forget planned failures', ({ faults }) =>
    json(200, { cleared: faults.splice(0).length }),
  ),
  steer(
    'GET',
    '/_sandbox/tokens',
    'every issued token, so that logs and dumps can be searched for it',
    ({ grants }) => json(200, { access: [...grants.access.keys()], refresh: [...grants.refresh.keys()] }),
  ),
  steer('POST', '/_sandbox/tokens/expire', 'expire all access tokens now', ({ grants }) =>
    json(200, { expired: expireAccess(grants) }),
  ),
  steer('POST', '/_sandbox/tokens/revoke', 'revoke all grants', ({ grants }) =>
    json(200, { revoked: revokeAll(grants) }),
  ),
  steer('POST', '/_sandbox/riders', `add a rider ${fieldsOf(riderSchema)}`, putRider),
  steer('PATCH', '/_sandbox/workouts/:path', `edit a workout ${fieldsOf(workoutSchema)}`, patchWorkout),
]

function describe(world: World): Reply {
  const routes = STEERING_ROUTES.map(({ method, pattern, about }) => ({ method, path: pattern, about }))
  return json(200, { now: world.now().toISOString(), routes })
}

async function patchSettings(world: World, request: Request): Promise<Reply> {
  const merge = (body: unknown) => (isObject(body) ? { ...world.settings, ...body } : body)
  Object.assign(world.settings, await readChecked(request, z.preprocess(merge, settingsSchema)))
  return json(200, world.settings)
}

async function planFault(world: World, request: Request): Promise<Reply> {
  const planned = await readChecked(request, faultSchema)
  const fault = { ...planned, id: (world.faults.at(-1)?.id ?? 0) + 1, hits: 0 }
  world.faults.push(fault)
  return json(201, fault)
}

/** Adds a rider, or changes the password of a known rider. */
async function putRider(world: World, request: Request): Promise<Reply> {
  const { username, password, activities: count, seed, home } = await readChecked(request, riderSchema)
  const known = world.riders.get(username)
  if (known) known.password = password
  else {
    const todayMs = Math.floor(world.now().getTime() / DAY) * DAY
    const { longestActivitySeconds } = world
    const history = { seed, count, longestActivitySeconds, todayMs, home: homeIn(home) }
    world.riders.set(username, makeRider({ username, password, ...history }))
  }
  return json(known ? 200 : 201, { username, activities: world.riders.get(username)?.activities.size })
}

/** Edits, deletes or revives a workout; every edit changes its `last_modified`. */
async function patchWorkout(world: World, request: Request, params: Params): Promise<Reply> {
  const known = listWorkouts(world).filter(({ path }) => path === params.path)
  const workout = known.find(({ deleted }) => !deleted) ?? known[0]
  if (!workout) return refuse(404, 'no such workout')
  const patch = await readChecked(request, workoutSchema)
  Object.assign(workout, patch, { modifiedMs: world.now().getTime() })
  return json(200, workout)
}
