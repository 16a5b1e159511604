import { makeStartDate, makeUtcDate } from '../athlete/start-date.ts'
import { html, json, jsonBody, type Reply, ReplyError, refuse, writeJson } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params } from '../http/router.ts'
import { SIGN_IN_PAGE } from '../http/send.ts'
import { type Activity, hasSamples, isListed } from '../state/activity.ts'
import { bodyFor } from '../state/bodies.ts'
import type { Rider } from '../state/rider.ts'
import type { Settings } from '../state/settings.ts'
import type { World } from '../state/world.ts'
import { makeActivityDetail } from './activity-body.ts'

/**
 * Answers GET /oauth/activity: `from` and `to` filter by start, `updated_from` by update time, all three in Unix
 * seconds and inclusive. Newest first; a cap keeps the newest.
 */
export function answerActivityList(deps: { world: World; rider: Rider }, request: Request): Reply {
  const { world, rider } = deps
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
    activities: found.map((activity) => makeListEntry(activity, world.settings.list_dates)),
  })
}

/** Writes an entry of the activity list: name, start, description, path and type, nothing more. */
export function makeListEntry(activity: Activity, dates: Settings['list_dates']) {
  return {
    name: activity.name,
    start_date:
      dates === 'utc' ? makeUtcDate(activity.startMs) : makeStartDate(activity.startMs, activity.zone),
    description: activity.description,
    path: activity.path,
    activity_type: activity.activityType,
  }
}

/** Answers GET /oauth/activity/<id>; only the rider's own activities are found. */
export function answerActivity(
  deps: { world: World; rider: Rider },
  request: Request,
  params: Params,
): Reply {
  const { world, rider } = deps
  const activity = rider.activities.get(params.path ?? '')
  const nowMs = world.now().getTime()
  if (!activity || !isListed(activity, nowMs)) return refuse(404, 'no such activity')
  if (activity.broken === 'html') return html(200, SIGN_IN_PAGE)
  if (activity.broken === '500') return refuse(500, 'this activity cannot be shown')
  const withSamples = request.query.get('include_session_data') === '1'
  const ready = hasSamples(activity, nowMs)
  const texts = world.settings.number_texts
  const key = [rider.username, activity.path, activity.revision, withSamples, ready, texts].join('/')
  const body = bodyFor(world.bodies, key, () =>
    writeJson(makeActivityDetail(activity, { nowMs, withSamples, texts })),
  )
  return jsonBody(breakBody(activity, body))
}

/** A cut body is short by two fifths and says so nowhere: its length is that of what is sent. */
function breakBody(activity: Activity, body: Buffer): Buffer {
  if (activity.broken === 'cut') return body.subarray(0, Math.floor(body.length * 0.6))
  if (activity.broken === 'success-false') return Buffer.from('{"success":false}')
  if (activity.broken === 'no-success') return Buffer.from(body.toString().replace('"success":true,', ''))
  return body
}

function readSeconds(request: Request, name: string): number | undefined {
  const text = request.query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?\d{1,15}$/.test(text)) throw new ReplyError(refuse(400, `${name} is no whole number of seconds`))
  return Number(text)
}
