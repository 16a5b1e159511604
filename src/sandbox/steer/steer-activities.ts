import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { DAY } from '../../kit/time.ts'
import { makeActivityDetail, makeListEntry, mergeDeep } from '../api/activity-answers.ts'
import { type Load, mapLoad, scaleSignature } from '../athlete/fitness-model.ts'
import { makeRandom, makeWord } from '../athlete/random.ts'
import type { Params, Route } from '../http/http-server.ts'
import { json, type Reply, ReplyError, refuse } from '../http/reply.ts'
import { type Request, readChecked } from '../http/request.ts'
import { type Activity, addActivity, changeActivity, hasSamples, isListed, type Rider } from '../rider.ts'
import { findActivity, type World } from '../world.ts'

/** The default age of a late activity, ms. */
const LATE_MS = 400 * DAY

/** The factor by which a recalculation changes every signature. */
const RECALCULATION = 0.985

/** Answers with the true state of every rider's activities, newest first, including deleted ones. */
export function answerTruths(world: World): Reply {
  const nowMs = world.now().getTime()
  const activities = [...world.riders.values()]
    .flatMap((rider) => [...rider.activities.values()].map((activity) => ({ rider, activity })))
    .sort((a, b) => b.activity.startMs - a.activity.startMs)
    .map(({ rider, activity }) => makeTruth(activity, rider.username, nowMs))
  return json(200, { activities })
}

/** Answers with the true state of an activity, and its undamaged detail. */
export function answerTruth(world: World, _request: Request, params: Params): Reply {
  const { rider, activity } = requireActivity(world, params)
  const nowMs = world.now().getTime()
  const detail = makeActivityDetail(activity, { nowMs, withSamples: true, settings: world.settings })
  return json(200, { ...makeTruth(activity, rider.username, nowMs), detail })
}

/** Adds an activity, which is listed at once. */
export async function createActivity(world: World, request: Request): Promise<Reply> {
  const input = await readChecked(request, newActivitySchema)
  const rider = world.riders.get(input.rider)
  if (!rider) return refuse(404, 'no such rider')
  const nowMs = world.now().getTime()
  const fallback = nowMs - (input.late ? LATE_MS : input.seconds * 1_000)
  const path = input.path ?? makeWord(makeRandom(randomUUID()), 16)
  if (findActivity(world, path)) return refuse(409, 'the activity exists already')
  const running = input.activity_type === 'Running'
  const activity = addActivity(rider, {
    path,
    seed: path,
    name: input.name,
    description: input.description,
    activityType: input.activity_type,
    zone: input.zone,
    isZoneSent: true,
    home: rider.home,
    startMs: input.started_at ?? Math.floor(fallback / 1_000) * 1_000,
    seconds: input.seconds,
    source: { kind: 'ride', ride: { kind: input.kind, running, indoor: input.indoor } },
    updatedMs: nowMs,
    samplesAtMs: nowMs + input.sample_delay_ms,
  })
  activity.summaryExtra = input.summary
  activity.sampleExtra = input.sample
  return json(201, makeTruth(activity, rider.username, nowMs))
}

/** Edits an activity and its update time. A `broken` alone keeps the update time, because the service does not know of it. */
export async function editActivity(world: World, request: Request, params: Params): Promise<Reply> {
  const { rider, activity } = requireActivity(world, params)
  const { broken, ...edit } = await readChecked(request, patchActivitySchema)
  const nowMs = world.now().getTime()
  if (broken !== undefined) activity.broken = broken
  if (Object.keys(edit).length > 0) changeActivity(activity, changeOf(activity, edit, nowMs), nowMs)
  return json(200, makeTruth(activity, rider.username, nowMs))
}

/** Deletes an activity: the list and the detail no longer have it. */
export const deleteActivity = answerChange((nowMs) => ({ deletedMs: nowMs }))

export const reviveActivity = answerChange(() => ({ deletedMs: null, hiddenAtMs: null }))

function answerChange(change: (nowMs: number) => Partial<Activity>): Route['answer'] {
  return (world, _request, params) => {
    const { rider, activity } = requireActivity(world, params)
    const nowMs = world.now().getTime()
    changeActivity(activity, change(nowMs), nowMs)
    return json(200, makeTruth(activity, rider.username, nowMs))
  }
}

/** Recalculates the whole history: signatures, loads and the available power change in every activity. */
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
  const scale = (load: Load) => mapLoad((part) => load[part] / RECALCULATION ** 2)
  return {
    signature: scaleSignature(activity.signature, RECALCULATION),
    previous: scaleSignature(activity.previous, RECALCULATION),
    load: scale(activity.load),
    loads: { tl: scale(activity.loads.tl), rl: scale(activity.loads.rl) },
  }
}

function changeOf(activity: Activity, edit: ActivityPatch, nowMs: number): Partial<Activity> {
  const kept = edit.reset ? { summaryExtra: {}, sampleExtra: {}, scalePower: 1 } : activity
  const { sample_delay_ms: delayMs } = edit
  return {
    name: edit.name ?? activity.name,
    description: edit.description === undefined ? activity.description : edit.description,
    activityType: edit.activity_type ?? activity.activityType,
    startMs: edit.started_at ?? activity.startMs,
    samplesAtMs: delayMs === undefined ? activity.samplesAtMs : nowMs + delayMs,
    summaryExtra: mergeDeep(kept.summaryExtra, edit.summary ?? {}),
    sampleExtra: { ...kept.sampleExtra, ...edit.sample },
    scalePower: edit.scale_power ?? kept.scalePower,
  }
}

function requireActivity(world: World, params: Params): { rider: Rider; activity: Activity } {
  const found = findActivity(world, params.path ?? '')
  if (!found) throw new ReplyError(refuse(404, 'no such activity'))
  return found
}

/** Returns all facts about an activity, including facts that no answer contains. */
function makeTruth(activity: Activity, rider: string, nowMs: number) {
  return {
    ...makeListEntry(activity, 'zone'),
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

function sampleCount(activity: Activity, nowMs: number): number {
  if (!hasSamples(activity, nowMs)) return 0
  return activity.source.kind === 'file' ? activity.source.track.unixMs.length : activity.seconds
}

/** Unix seconds or ISO text, parsed to ms since 1970. */
const moment = z
  .union([z.number(), z.iso.datetime({ offset: true })])
  .transform((at) => (typeof at === 'number' ? at * 1_000 : new Date(at).getTime()))

const sampleFields = z.record(z.string(), z.union([z.number(), z.string(), z.null()]))

/** Body of POST /_sandbox/activities. `started_at` is Unix seconds or ISO text; a `late` activity is new now but started 400 days ago. */
export const newActivitySchema = z.strictObject({
  rider: z.string().default('rider'),
  /** the path, which is also the seed of the ride */
  path: z.string().min(1).optional(),
  name: z.string().default('Added Ride'),
  description: z.string().nullable().default(null),
  started_at: moment.optional(),
  seconds: z.number().int().positive().max(172_800).default(1_800),
  activity_type: z.string().default('Cycling'),
  kind: z.enum(['recovery', 'endurance', 'tempo', 'intervals', 'sprints', 'race']).default('endurance'),
  indoor: z.boolean().default(false),
  zone: z
    .strictObject({ style: z.union([z.literal(1), z.literal(2), z.literal(3)]), name: z.string() })
    .default({ style: 3, name: 'UTC' }),
  late: z.boolean().default(false),
  sample_delay_ms: z.number().int().nonnegative().default(0),
  summary: z.record(z.string(), z.unknown()).default({}),
  sample: sampleFields.default({}),
})

/** Body of PATCH /_sandbox/activities/<path>. `summary` changes fields at any level; `reset` first drops all earlier changes. */
export const patchActivitySchema = z.strictObject({
  name: z.string().optional(),
  description: z.string().nullable().optional(),
  activity_type: z.string().optional(),
  started_at: moment.optional(),
  summary: z.record(z.string(), z.unknown()).optional(),
  sample: sampleFields.optional(),
  scale_power: z.number().positive().optional(),
  sample_delay_ms: z.number().int().nonnegative().optional(),
  broken: z
    .enum(['html', 'cut', '500', 'no-success', 'success-false', 'no-summary', 'empty-summary'])
    .nullable()
    .optional(),
  reset: z.boolean().optional(),
})

type ActivityPatch = z.infer<typeof patchActivitySchema>
