import { json } from '../http/reply.ts'
import type { Route } from '../http/router.ts'
import * as activities from './activities.ts'
import * as controls from './controls.ts'

const one = '/_sandbox/activities/:path'

/** How tests steer the sandbox: JSON, no token. */
export const steeringRoutes: readonly Route[] = [
  {
    method: 'GET',
    pattern: '/_sandbox/',
    about: 'this table',
    answer: (world) => json(200, { now: world.now().toISOString(), routes: describeRoutes() }),
  },
  route('GET', '/_sandbox/counts', 'requests by route, uploads, tokens', controls.answerCounts),
  route('POST', '/_sandbox/counts/reset', 'start counting again', controls.resetCounts),
  route(
    'GET',
    '/_sandbox/activities',
    'the truth: every activity, deleted ones too',
    activities.answerTruths,
  ),
  route('GET', one, 'the truth of one, with its detail', activities.answerTruth),
  route(
    'POST',
    '/_sandbox/activities',
    'add one {rider, path, name, description, started_at, seconds, activity_type, kind, indoor, zone, late, sample_delay_ms, summary, sample}',
    activities.addWished,
  ),
  route(
    'PATCH',
    one,
    'edit {name, description, activity_type, started_at, summary, sample, scale_power, sample_delay_ms, broken, reset}',
    activities.patchWished,
  ),
  route('DELETE', one, 'delete; the list forgets it', activities.deleteWished),
  route('POST', `${one}/revive`, 'bring a deleted or hidden one back', activities.reviveWished),
  route('POST', '/_sandbox/recalculate', 'change every activity at once', activities.recalculate),
  route('GET', '/_sandbox/settings', 'the settings', controls.answerSettings),
  route('PATCH', '/_sandbox/settings', 'change settings', controls.patchSettings),
  route('GET', '/_sandbox/faults', 'planned failures and how often they hit', controls.answerFaults),
  route(
    'POST',
    '/_sandbox/faults',
    'plan a failure {method, path, kind, status, retry_after, body, times, probability, duration_ms}',
    controls.planFault,
  ),
  route('DELETE', '/_sandbox/faults', 'forget planned failures', controls.clearFaults),
  route(
    'GET',
    '/_sandbox/tokens',
    'every token given out, to search logs and dumps for',
    controls.answerTokens,
  ),
  route('POST', '/_sandbox/tokens/expire', 'access tokens end now', controls.expireTokens),
  route('POST', '/_sandbox/tokens/revoke', 'grants are gone', controls.revokeTokens),
  route('POST', '/_sandbox/riders', 'add a rider {username, password, activities, seed}', controls.putRider),
  route('PATCH', '/_sandbox/workouts/:path', 'edit {name, description, deleted}', controls.patchWorkout),
]

function route(method: string, pattern: string, about: string, answer: Route['answer']): Route {
  return { method, pattern, about, answer }
}

function describeRoutes(): Array<{ method: string; path: string; about: string }> {
  return steeringRoutes.map(({ method, pattern, about }) => ({ method, path: pattern, about }))
}
