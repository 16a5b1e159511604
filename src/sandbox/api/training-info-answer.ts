import { escapeMarkup } from '../../kit/text.ts'
import { DAY } from '../../kit/time.ts'
import { freshnessOf, type Load, type Signature, totalOf } from '../athlete/fitness-model.ts'
import { resolveSets, type Workout } from '../athlete/workout-designs.ts'
import type { RiderAnswer } from '../http/http-server.ts'
import { json, makeReply, refuse } from '../http/reply.ts'
import { loadsAt, type Rider, riderSignature } from '../rider.ts'
import { findWorkout, type World } from '../world.ts'

/** Answers GET /oauth/training_info: current signature, loads and status, and the workout of the day. */
export const answerTrainingInfo: RiderAnswer = ({ world, rider }, request) => {
  const format = request.query.get('format') ?? ''
  if (!['', 'erg', 'zwo'].includes(format)) return refuse(400, 'format is erg or zwo')
  const nowMs = world.now().getTime()
  const loads = loadsAt(rider, nowMs)
  const { tl } = loads
  const { ftp, ltp, hie, pp } = riderSignature(rider, nowMs)
  return json(200, {
    success: true,
    signature: { ftp, ltp, hie, pp },
    status: freshnessOf(loads),
    weight: rider.body.weightKg,
    tl: withTotal(tl),
    // Slightly more than the load that keeps the training load constant.
    targetXSS: withTotal({ low: tl.low * 1.08, high: tl.high * 1.1, peak: tl.peak * 1.1 }),
    source: 'Improvement Rate',
    wotd: workoutOfTheDay({ world, rider }, { nowMs, format, origin: request.origin }),
  })
}

/** Answers GET /oauth/workout-download/<workout_id>.<ext> with a real ERG or ZWO file. */
export const answerWorkoutDownload: RiderAnswer = ({ world, rider }, _request, params) => {
  const named = /^(.+)\.(erg|zwo)$/.exec(params.file ?? '')
  const workout = named && findWorkout(world, named[1] as string)
  if (!named || !workout) return refuse(404, 'no such workout file')
  const signature = riderSignature(rider, world.now().getTime())
  const attachment = { 'content-disposition': `attachment; filename="${workout.path}.${named[2]}"` }
  if (named[2] === 'zwo') return makeReply(200, 'application/xml', formatZwo(workout, signature), attachment)
  return makeReply(200, 'text/plain; charset=utf-8', formatErg(workout, signature), attachment)
}

/** Returns the workout of the day: None on Mondays, Scheduled at weekends, Forecast on other days, unless the settings fix the type. The URL is present only with a format. */
function workoutOfTheDay(
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

function withTotal(load: Load) {
  return { ...load, total: totalOf(load) }
}

/** Formats a workout as an ERG file: minutes and watts, two points for each step. */
function formatErg(workout: Workout, signature: Signature): string {
  let minutes = 0
  const lines: string[] = []
  const ride = (watts: number, seconds: number) => {
    lines.push(`${minutes.toFixed(2)}\t${Math.round(watts)}`)
    minutes += seconds / 60
    lines.push(`${minutes.toFixed(2)}\t${Math.round(watts)}`)
  }
  for (const set of resolveSets(workout, signature)) {
    for (let i = 0; i < set.interval_count; i++) {
      ride(set.power, set.duration)
      if (set.power_rest !== undefined) ride(set.power_rest, set.duration_rest ?? 0)
    }
  }
  return [
    '[COURSE HEADER]',
    'VERSION = 2',
    'UNITS = ENGLISH',
    `DESCRIPTION = ${workout.description.replace(/\s+/g, ' ')}`,
    `FILE NAME = ${workout.name ?? workout.path}`,
    `FTP = ${Math.round(signature.ftp)}`,
    'MINUTES WATTS',
    '[END COURSE HEADER]',
    '[COURSE DATA]',
    ...lines,
    '[END COURSE DATA]',
    '',
  ].join('\r\n')
}

/** Formats a workout as a ZWO file: XML, with power as shares of Threshold Power. */
function formatZwo(workout: Workout, signature: Signature): string {
  const share = (watts: number) => (watts / signature.ftp).toFixed(3)
  const elements = resolveSets(workout, signature).map((set) => {
    if (set.power_rest === undefined || set.duration_rest === undefined) {
      return `    <SteadyState Duration="${set.duration}" Power="${share(set.power)}"/>`
    }
    const on = `OnDuration="${set.duration}" OnPower="${share(set.power)}"`
    const off = `OffDuration="${set.duration_rest}" OffPower="${share(set.power_rest)}"`
    return `    <IntervalsT Repeat="${set.interval_count}" ${on} ${off}/>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<workout_file>',
    '  <author>Sandbox</author>',
    `  <name>${escapeMarkup(workout.name ?? workout.path)}</name>`,
    `  <description>${escapeMarkup(workout.description)}</description>`,
    '  <sportType>bike</sportType>',
    '  <workout>',
    ...elements,
    '  </workout>',
    '</workout_file>',
    '',
  ].join('\n')
}
