import { expect, it } from 'vitest'
import type { ServiceObserver } from '../../../src/core/service/service.ts'
import {
  ACCOUNT,
  CLIENT,
  errorOf,
  openTestService,
  PASSWORD,
  type Reply,
  type SentRequest,
  tokenBody,
} from './open-test-service.ts'

/** A service whose requests and waits are kept as they are told. */
function open(answer: (requests: SentRequest) => Reply | Error) {
  const seen: string[] = []
  const waits: number[] = []
  const observer: ServiceObserver = {
    onAnswer: ({ endpoint, status, failure, ms }) => {
      expect(ms).toBeGreaterThanOrEqual(0)
      seen.push(`${endpoint} ${status ?? failure}`)
    },
    onPause: (ms) => void waits.push(ms),
  }
  return { ...openTestService(answer, { observer }), seen, waits }
}

it('an observer is called for every request with the pattern of its endpoint, and with no object', async () => {
  const { account, service, seen } = open(() => ({ status: 404 }))
  for (const call of [
    () => account.listActivities({ from: new Date(0), to: new Date() }),
    () => account.fetchActivity('my-ride', { samples: true }),
    () => account.fetchTrainingInfo({ format: 'erg' }),
    () => account.downloadWorkout('/oauth/workout-download/7.erg'),
    () => account.listWorkouts(),
    () => account.fetchWorkout('my-workout'),
    () => service.listDefaultWorkouts(ACCOUNT.baseUrl),
    () => account.uploadFit({ fileName: 'secret ride.fit', bytes: Buffer.from('x') }),
    () => service.requestLogin(CLIENT, PASSWORD),
  ])
    await errorOf(call())
  expect(seen).toEqual([
    'GET /oauth/activity 404',
    'GET /oauth/activity/<id> 404',
    'GET /oauth/training_info 404',
    'GET /oauth/workout-download/<workout_id>.<ext> 404',
    'GET /oauth/workouts 404',
    'GET /oauth/workout/<path> 404',
    'GET /oauth/workout 404',
    'POST /oauth/upload 404',
    'POST /oauth/token 404',
  ])
})

it('an observer is called for each try, for the refresh after a 401, and for a request that was aborted, with the reason', async () => {
  const lost = open(() => Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  await errorOf(lost.account.listWorkouts())
  expect(lost.seen).toEqual(Array(3).fill('GET /oauth/workouts connection_lost'))

  const replies = [{ status: 401 }, { body: tokenBody(2) }, { body: { success: true, workouts: [] } }]
  const refused = open(() => replies.shift() ?? {})
  await refused.account.listWorkouts()
  const asked = ['GET /oauth/workouts 401', 'POST /oauth/token 200', 'GET /oauth/workouts 200']
  expect(refused.seen).toEqual(asked)

  const stop = new AbortController()
  const aborted = open(() => {
    stop.abort(new Error('enough'))
    return { body: {} }
  })
  await errorOf(aborted.account.listWorkouts(stop.signal))
  expect(aborted.seen).toEqual(['GET /oauth/workouts aborted'])
})

it('an observer is called with the length of each rate limit, and counts no moment twice', async () => {
  const asks = ['30', '40', '5']
  const { account, waits, clock } = open(() => ({
    status: 429,
    headers: { 'retry-after': asks.shift() ?? '30' },
  }))
  // Three requests are under way when the first is told to wait.
  await Promise.all([1, 2, 3].map(() => errorOf(account.listWorkouts())))
  expect(waits).toEqual([30_000, 10_000])
  clock.advance(60_000)
  await errorOf(account.listWorkouts())
  expect(waits).toEqual([30_000, 10_000, 30_000])
  const failing = open(() => ({ status: 503 }))
  await errorOf(failing.account.listWorkouts())
  expect(failing.waits).toEqual([])
})
