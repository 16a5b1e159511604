import { DAY } from '../../kit/time.ts'
import { freshnessOf, type Load, totalOf } from '../athlete/loads.ts'
import { json, type Reply, refuse, text } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params } from '../http/router.ts'
import { type Rider, riderSignature, standingAt } from '../state/rider.ts'
import { findWorkout, type World } from '../state/world.ts'
import type { Workout } from '../workouts/designs.ts'
import { makeErgFile, makeZwoFile } from '../workouts/files.ts'

/** Answers GET /oauth/training_info: signature, loads and status as of now, and the workout of the day. */
export function answerTrainingInfo(deps: { world: World; rider: Rider }, request: Request): Reply {
  const { world, rider } = deps
  const format = request.query.get('format') ?? ''
  if (!['', 'erg', 'zwo'].includes(format)) return refuse(400, 'format is erg or zwo')
  const nowMs = world.now().getTime()
  const standing = standingAt(rider, nowMs)
  const { ftp, ltp, hie, pp } = riderSignature(rider, nowMs)
  return json(200, {
    success: true,
    signature: { ftp, ltp, hie, pp },
    status: freshnessOf(standing),
    weight: rider.body.weightKg,
    tl: withTotal(standing.tl),
    targetXSS: withTotal(targetOf(standing.tl)),
    source: 'Improvement Rate',
    wotd: makeWorkoutOfTheDay(deps, { nowMs, format, origin: request.origin }),
  })
}

/** Answers GET /oauth/workout-download/<workout_id>.<ext> with a real ERG or ZWO file. */
export function answerWorkoutDownload(
  deps: { world: World; rider: Rider },
  _request: Request,
  params: Params,
): Reply {
  const named = /^(.+)\.(erg|zwo)$/.exec(params.file ?? '')
  const workout = named && findWorkout(deps.world, named[1] as string)
  if (!named || !workout) return refuse(404, 'no such workout file')
  const signature = riderSignature(deps.rider, deps.world.now().getTime())
  const attachment = { 'content-disposition': `attachment; filename="${workout.path}.${named[2]}"` }
  if (named[2] === 'zwo') return text(200, 'application/xml', makeZwoFile(workout, signature), attachment)
  return text(200, 'text/plain; charset=utf-8', makeErgFile(workout, signature), attachment)
}

/** None on Mondays, Scheduled at weekends, Forecast on other days, unless the settings say; the url only with a format. */
function makeWorkoutOfTheDay(
  deps: { world: World; rider: Rider },
  input: { nowMs: number; format: string; origin: string },
) {
  const { world, rider } = deps
  const weekday = new Date(input.nowMs).getUTCDay()
  const usual = weekday === 1 ? 'None' : weekday % 6 === 0 ? 'Scheduled' : 'Forecast'
  const type = world.settings.wotd_type === 'auto' ? usual : world.settings.wotd_type
  const from = type === 'Scheduled' ? rider.workouts : world.defaultWorkouts
  const choices = from.filter((workout) => !workout.deleted && workout.name !== null)
  const workout: Workout | undefined = choices[Math.floor(input.nowMs / DAY) % Math.max(1, choices.length)]
  if (type === 'None' || !workout) return { type: 'None' }
  const file = `${input.origin}/oauth/workout-download/${workout.path}.${input.format}`
  return {
    type,
    name: workout.name,
    workoutId: workout.path,
    description: workout.description,
    difficulty: workout.difficulty,
    ...(input.format === '' ? {} : { url: file }),
  }
}

/** A little more than what keeps the load where it is. */
function targetOf(load: Load): Load {
  return { low: load.low * 1.08, high: load.high * 1.1, peak: load.peak * 1.1 }
}

function withTotal(load: Load) {
  return { ...load, total: totalOf(load) }
}
