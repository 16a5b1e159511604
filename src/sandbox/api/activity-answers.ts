import { DateTime } from 'luxon'
import { isObject } from '../../kit/json.ts'
import { mapLoad } from '../athlete/fitness-model.ts'
import type { Zone } from '../athlete/history.ts'
import { simulateTrack } from '../athlete/ride.ts'
import { endAt, type Scored, scoreTrack, sumTrack } from '../athlete/score.ts'
import { makeSamples } from '../athlete/session-samples.ts'
import { makeSummary, type StartDate, type Summary, thinSummary } from '../athlete/summary.ts'
import type { RiderAnswer } from '../http/http-server.ts'
import { html, json, ReplyError, refuse, SIGN_IN_PAGE, writeJson } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import { DETAIL, keepDocumented } from '../http/strict.ts'
import { type Activity, hasSamples, isListed } from '../rider.ts'
import { cachedBody, type Settings } from '../world.ts'

/** Answers GET /oauth/activity. `from` and `to` filter by start, `updated_from` by update time; all three are in Unix seconds and inclusive. Lists the newest first; a cap keeps the newest activities. */
export const answerActivityList: RiderAnswer = ({ world, rider }, request) => {
  const from = readSeconds(request, 'from')
  const to = readSeconds(request, 'to')
  const updatedFrom = readSeconds(request, 'updated_from')
  if (from === undefined || to === undefined) return refuse(400, 'from and to are required')
  const nowMs = world.now().getTime()
  const found = [...rider.activities.values()]
    .filter((activity) => isListed(activity, nowMs))
    .filter(({ startMs }) => startMs >= from * 1_000 && startMs < (to + 1) * 1_000)
    .filter(({ updatedMs }) => updatedFrom === undefined || updatedMs >= updatedFrom * 1_000)
    .sort((a, b) => b.startMs - a.startMs)
    .slice(0, world.settings.list_cap ?? undefined)
  return json(200, {
    success: true,
    activities: found.map((activity) => makeListEntry(activity, world.settings.dates)),
  })
}

/** Makes an entry of the activity list, with only name, start, description, path and type. */
export function makeListEntry(activity: Activity, dates: Settings['dates']) {
  return {
    name: activity.name,
    start_date: makeStartDate(activity.startMs, dates === 'zone' ? activity.zone : UTC),
    description: activity.description,
    path: activity.path,
    activity_type: activity.activityType,
  }
}

/** Answers GET /oauth/activity/<id>; finds only the rider's own activities. */
export const answerActivity: RiderAnswer = ({ world, rider }, request, params) => {
  const activity = rider.activities.get(params.path ?? '')
  const nowMs = world.now().getTime()
  if (!activity || !isListed(activity, nowMs)) return refuse(404, 'no such activity')
  if (activity.broken === 'html') return html(200, SIGN_IN_PAGE)
  if (activity.broken === '500') return refuse(500, 'this activity cannot be shown')
  const withSamples = request.query.get('include_session_data') === '1'
  const ready = hasSamples(activity, nowMs)
  const { settings } = world
  const made = [rider.username, activity.path, activity.revision, withSamples, ready]
  const body = cachedBody(world, [...made, settings.number_texts, settings.dates].join('/'), () => {
    const detail = makeActivityDetail(activity, { nowMs, withSamples, settings })
    return writeJson(world.strict ? keepDocumented(detail, DETAIL) : detail)
  })
  return json(200, breakBody(activity, body))
}

/** Damages a body as planned. `cut` drops the last two fifths and declares the length of the remaining part. */
function breakBody(activity: Activity, body: Buffer): Buffer {
  if (activity.broken === 'cut') return body.subarray(0, Math.floor(body.length * 0.6))
  if (activity.broken === 'no-summary') return Buffer.from('{"success":true}')
  // PHP writes an empty object as a list.
  if (activity.broken === 'empty-summary')
    return Buffer.from(writeJson({ ...JSON.parse(body.toString()), summary: [] }))
  if (activity.broken === 'success-false') return Buffer.from('{"success":false}')
  if (activity.broken === 'no-success') return Buffer.from(body.toString().replace('"success":true,', ''))
  return body
}

function readSeconds(request: Request, name: string): number | undefined {
  const text = request.query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?\d{1,15}$/.test(text)) throw new ReplyError(refuse(400, `${name} is not in whole seconds`))
  return Number(text)
}

/** Makes the detail of an activity, with samples on request. Until its samples are ready, the summary has few fields and `session_data` is empty. */
export function makeActivityDetail(
  activity: Activity,
  input: { nowMs: number; withSamples: boolean; settings: Settings },
) {
  const named = { success: true, name: activity.name, description: activity.description }
  const isZoneSent = activity.isZoneSent || input.settings.dates !== 'utc'
  const startDate = makeStartDate(activity.startMs, isZoneSent ? activity.zone : UTC)
  if (!hasSamples(activity, input.nowMs)) {
    // PHP writes an empty object as a list.
    const thin = { session: [], progression: [], ...thinSummary({ ...activity, startDate }) }
    const summary = mergeDeep(thin, activity.summaryExtra)
    return { ...named, summary, ...(input.withSamples ? { session_data: [] } : {}) }
  }
  const scored = scoreActivity(activity)
  const facts = {
    ...activity,
    startDate,
    indoor: activity.source.kind === 'ride' && activity.source.ride.indoor,
    day: startDate.date.slice(0, 10),
  }
  const summary = mergeDeep(makeSummary(facts, sumTrack(scored)), activity.summaryExtra)
  if (!input.withSamples) return { ...named, summary }
  const samples = makeSamples(scored, {
    seed: activity.seed,
    plain: activity.source.kind === 'file',
    texts: input.settings.number_texts,
    extra: activity.sampleExtra,
  })
  return { ...named, session_data: samples, summary }
}

/** Simulates or replays an activity and scores it with its current signature. */
function scoreActivity(activity: Activity): Scored {
  const { source } = activity
  const track =
    source.kind === 'file'
      ? source.track
      : simulateTrack({ ...activity, ...source.ride, signature: activity.riddenWith })
  // The score grows with the square of power.
  const load = mapLoad((part) => activity.load[part] * activity.scalePower ** 2)
  return endAt(scoreTrack(track, activity.signature, activity.scalePower), load)
}

/** Merges changes into an object, level by level; a value that is not an object replaces the old value. */
export function mergeDeep(base: Summary, changes: Summary): Summary {
  const merged: Summary = { ...base }
  for (const [name, value] of Object.entries(changes)) {
    const old = merged[name]
    merged[name] = isObject(old) && isObject(value) ? mergeDeep(old, value) : value
  }
  return merged
}

const UTC: Zone = { style: 3, name: 'UTC' }

/** Formats a time as the service does: local time in the zone, with six decimals of a second, and the zone in its style. */
function makeStartDate(atMs: number, zone: Zone): StartDate {
  const local = DateTime.fromMillis(atMs, { zone: zone.name })
  return {
    date: `${local.toFormat('yyyy-MM-dd HH:mm:ss.SSS')}000`,
    timezone_type: zone.style,
    timezone: timezoneText(local, zone),
  }
}

function timezoneText(local: DateTime, zone: Zone): string {
  if (zone.style === 1) return local.toFormat('ZZ')
  if (zone.style === 2) return local.setLocale('en-US').toFormat('ZZZZ')
  return zone.name
}
