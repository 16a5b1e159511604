import { randomUUID } from 'node:crypto'
import { DAY } from '../../kit/time.ts'
import { mergeDeep } from '../api/activity-body.ts'
import { makeRandom, makeWord } from '../athlete/random.ts'
import { scaleSignature } from '../athlete/signature.ts'
import { json, type Reply, ReplyError, refuse } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params } from '../http/router.ts'
import { type Activity, changeActivity } from '../state/activity.ts'
import { addActivity, type Rider } from '../state/rider.ts'
import { findActivity, type World } from '../state/world.ts'
import { type ActivityPatch, newActivitySchema, patchActivitySchema } from './activity-schemas.ts'
import { listTruths, makeTruth, makeTruthWithDetail } from './activity-truth.ts'
import { readSteering } from './read-steering.ts'

/** How long ago a late activity started, when nobody says. */
const LATE_MS = 400 * DAY

/** What a recalculation does to every signature and load. */
const RECALCULATION = 0.985

/** Answers with the truth of every activity. */
export function answerTruths(world: World): Reply {
  return json(200, { activities: listTruths(world) })
}

/** Answers with the truth of one activity and its detail. */
export function answerTruth(world: World, _request: Request, params: Params): Reply {
  const { rider, activity } = requireActivity(world, params)
  return json(200, makeTruthWithDetail(world, activity, rider.username))
}

/** Adds an activity; it is listed at once. */
export async function addWished(world: World, request: Request): Promise<Reply> {
  const wish = await readSteering(request, newActivitySchema)
  const rider = world.riders.get(wish.rider)
  if (!rider) return refuse(404, 'no such rider')
  const nowMs = world.now().getTime()
  const fallback = nowMs - (wish.late ? LATE_MS : wish.seconds * 1_000)
  const path = wish.path ?? makeWord(makeRandom(randomUUID()), 16)
  if (findActivity(world, path)) return refuse(409, 'there is such an activity')
  const running = wish.activity_type === 'Running'
  const activity = addActivity(rider, {
    path,
    seed: path,
    name: wish.name,
    description: wish.description,
    activityType: wish.activity_type,
    zone: wish.zone,
    startMs: readMoment(wish.started_at) ?? Math.floor(fallback / 1_000) * 1_000,
    seconds: wish.seconds,
    source: { kind: 'ride', ride: { kind: wish.kind, running, indoor: wish.indoor } },
    updatedMs: nowMs,
    samplesAtMs: nowMs + wish.sample_delay_ms,
  })
  activity.summaryExtra = wish.summary
  activity.sampleExtra = wish.sample
  return json(201, makeTruth(activity, rider.username, nowMs))
}

/** Edits an activity; its update time moves, but for a `broken` alone, which the service knows nothing of. */
export async function patchWished(world: World, request: Request, params: Params): Promise<Reply> {
  const { rider, activity } = requireActivity(world, params)
  const patch = await readSteering(request, patchActivitySchema)
  const nowMs = world.now().getTime()
  const { broken, ...edit } = patch
  if (broken !== undefined) activity.broken = broken
  if (Object.keys(edit).length > 0) changeActivity(activity, changeOf(activity, edit, nowMs), nowMs)
  return json(200, makeTruth(activity, rider.username, nowMs))
}

/** Deletes an activity: the list and the detail forget it. */
export function deleteWished(world: World, _request: Request, params: Params): Reply {
  const { rider, activity } = requireActivity(world, params)
  const nowMs = world.now().getTime()
  changeActivity(activity, { deletedMs: nowMs }, nowMs)
  return json(200, makeTruth(activity, rider.username, nowMs))
}

/** Brings a deleted or hidden activity back. */
export function reviveWished(world: World, _request: Request, params: Params): Reply {
  const { rider, activity } = requireActivity(world, params)
  const nowMs = world.now().getTime()
  changeActivity(activity, { deletedMs: null, hiddenAtMs: null }, nowMs)
  return json(200, makeTruth(activity, rider.username, nowMs))
}

/** Recalculates the whole history: signatures, loads and what is available change in every activity. */
export function recalculate(world: World): Reply {
  const nowMs = world.now().getTime()
  let changed = 0
  for (const rider of world.riders.values()) {
    rider.body = { ...rider.body, base: scaleSignature(rider.body.base, RECALCULATION) }
    for (const activity of rider.activities.values()) {
      changeActivity(activity, recalculated(activity), nowMs)
      changed++
    }
  }
  return json(200, { recalculated: changed })
}

function recalculated(activity: Activity): Partial<Activity> {
  const scale = (load: Activity['load']) => ({
    low: load.low / RECALCULATION ** 2,
    high: load.high / RECALCULATION ** 2,
    peak: load.peak / RECALCULATION ** 2,
  })
  return {
    signature: scaleSignature(activity.signature, RECALCULATION),
    previous: scaleSignature(activity.previous, RECALCULATION),
    load: scale(activity.load),
    standing: { tl: scale(activity.standing.tl), rl: scale(activity.standing.rl) },
  }
}

function changeOf(activity: Activity, edit: ActivityPatch, nowMs: number): Partial<Activity> {
  const kept = edit.reset ? { summary: {}, sample: {}, scale: 1 } : undefined
  const startMs = readMoment(edit.started_at)
  return {
    ...(edit.name === undefined ? {} : { name: edit.name }),
    ...(edit.description === undefined ? {} : { description: edit.description }),
    ...(edit.activity_type === undefined ? {} : { activityType: edit.activity_type }),
    ...(startMs === undefined ? {} : { startMs }),
    ...(edit.sample_delay_ms === undefined ? {} : { samplesAtMs: nowMs + edit.sample_delay_ms }),
    summaryExtra: mergeDeep(kept?.summary ?? activity.summaryExtra, edit.summary ?? {}),
    sampleExtra: { ...(kept?.sample ?? activity.sampleExtra), ...edit.sample },
    scalePower: edit.scale_power ?? kept?.scale ?? activity.scalePower,
  }
}

function requireActivity(world: World, params: Params): { rider: Rider; activity: Activity } {
  const found = findActivity(world, params.path ?? '')
  if (!found) throw new ReplyError(refuse(404, 'no such activity'))
  return found
}

function readMoment(moment: number | string | undefined): number | undefined {
  if (moment === undefined) return undefined
  return typeof moment === 'number' ? moment * 1_000 : new Date(moment).getTime()
}
