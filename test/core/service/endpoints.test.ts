import { describe, expect, it } from 'vitest'
import type { ServiceObserver } from '../../../src/core/service/service.ts'
import { readTable } from '../../kit/table.ts'
import {
  ACCOUNT,
  BASE_URL,
  CLIENT,
  errorOf,
  openTestService,
  PASSWORD,
  type Reply,
} from './open-test-service.ts'

/** Opens an account whose requests get the replies `before` in order, then always `reply`. */
function openAccount(reply: Reply, baseUrl = BASE_URL, before: Reply[] = []) {
  const opened = openTestService(() => before.shift() ?? reply)
  return { ...opened, account: opened.service.forAccount({ ...ACCOUNT, baseUrl }) }
}

const EMPTY = { body: { success: true, activities: [], workouts: [], workout: [] } }
const MARCH = { from: new Date('2024-03-01T00:00:00.900Z'), to: new Date('2024-03-31T00:00:00.100Z') }

describe('a request', () => {
  it('is a GET with token, user agent, whole seconds and only the wanted fields', async () => {
    const { account, requests } = openAccount(EMPTY)
    await account.listActivities({ ...MARCH, updatedFrom: new Date('2024-03-02T00:00:00.999Z') })
    await account.fetchActivity('ab12', { samples: true })
    await account.fetchActivity('ab12', { samples: false })
    await account.fetchTrainingInfo({})
    await account.fetchTrainingInfo({ format: 'zwo' })
    expect(requests.map(({ path }) => path)).toEqual([
      '/oauth/activity?from=1709251200&to=1711843201&updated_from=1709337600',
      '/oauth/activity/ab12?include_session_data=1',
      '/oauth/activity/ab12?include_session_data=0',
      '/oauth/training_info',
      '/oauth/training_info?format=zwo',
    ])
    const plain = { accept: '*/*', 'accept-encoding': 'gzip', 'user-agent': 'musette/test' }
    expect(requests[0]?.headers).toEqual({ ...plain, authorization: 'Bearer access-0' })
  })

  it('keeps the base URL’s path, and escapes an identity to one segment or throws', async () => {
    const { account, requests } = openAccount(EMPTY, `${BASE_URL}/api/`)
    await account.fetchWorkout('a/../b?c#d')
    for (const path of ['', '.', '../..'])
      expect(await errorOf(account.fetchActivity(path, { samples: false }))).toMatchObject({
        code: 'bad_path',
      })
    expect(requests.map(({ path }) => path)).toEqual(['/api/oauth/workout/a%2F..%2Fb%3Fc%23d'])
  })

  it('has no token for the default workouts', async () => {
    const { service, requests } = openAccount({ body: { success: true, workouts: [{ path: 'w1' }] } })
    const answer = await service.listDefaultWorkouts(BASE_URL)
    expect(answer.value.entries.map((entry) => entry.path)).toEqual(['w1'])
    expect(requests[0]).toMatchObject({ path: '/oauth/workout' })
    expect(requests[0]?.headers).not.toHaveProperty('authorization')
  })
})

it('a response is read as JSON with any content type and a byte order mark', async () => {
  const headers = { 'content-type': 'text/html; charset=UTF-8' }
  const { account } = openAccount({ body: '\uFEFF {"success":true,"name":"Ride"}', headers })
  expect((await account.fetchActivity('ab12', { samples: false })).value.name).toBe('Ride')
})

describe('a 429', () => {
  it.each(
    readTable(`
      in seconds | 17 | | 17000
      as a date by our clock | Wed, 01 May 2024 12:00:45 GMT | | 45000
      as a date by the clock of the service | Wed, 01 May 2024 12:00:45 GMT | Wed, 01 May 2024 12:00:05 GMT | 40000
      with nonsense | soon | | 60000
      as a date of RFC 850 | Wednesday, 01-May-24 12:00:45 GMT | | 45000
      as a date of asctime | Wed May  1 12:00:45 2024 | | 45000
      as a date of tomorrow | Thu, 02 May 2024 12:00:00 GMT | | 3600000
      as a date that is past | Wed, 01 May 2024 11:59:00 GMT | | 1000
      with a negative number | -5 | | 60000
      with a fraction | 1.5 | | 1500
      with two numbers | 2, 3 | | 60000
      with a date without a weekday | 2024-05-01 | | 60000
      with zero | 0 | | 1000
      with a year | 31536000 | | 86400000`),
  )('says how long to wait: %s', async (_name, after = '', date = '', ms) => {
    const headers = { ...(after && { 'retry-after': after }), ...(date && { date }) }
    const { account, requests } = openAccount({ status: 429, body: '', headers })
    const limited = { name: 'RateLimitedError', retryAfterMs: Number(ms) }
    expect(await errorOf(account.listWorkouts())).toMatchObject(limited)
    expect(requests).toHaveLength(1)
  })

  it.each([
    [429, '17', 17_000],
    [503, '5', 5_000],
    [503, '3600', 60_000],
  ])(
    'or a %i with a Retry-After of %s s pauses later calls, after a 503 up to a minute',
    async (status, after, ms) => {
      const { account, service, slept } = openAccount(EMPTY, BASE_URL, [
        { status, headers: { 'retry-after': after } },
      ])
      await account.listWorkouts().catch(() => service.listDefaultWorkouts(BASE_URL))
      expect(slept.reduce((sum, one) => sum + one, 0)).toBe(ms)
    },
  )
})

it('an observer gets endpoints without object names; only an upload quotes a refusal', async () => {
  const said: string[] = []
  const seen: string[] = []
  const observer: ServiceObserver = {
    onAnswer: ({ endpoint, status }) => void seen.push(`${endpoint} ${status}`),
    onPause: () => undefined,
  }
  const { account, service } = openTestService(() => ({ status: 404, body: { message: 'Too short' } }), {
    observer,
  })
  for (const call of [
    () => account.listActivities({ from: new Date(0), to: new Date() }),
    () => account.fetchActivity('my-ride', { samples: true }),
    () => account.fetchTrainingInfo({ format: 'erg' }),
    () => account.downloadWorkout('/oauth/workout-download/7.erg'),
    () => account.listWorkouts(),
    () => account.fetchWorkout('my-workout'),
    () => service.listDefaultWorkouts(BASE_URL),
    () => account.uploadFit({ fileName: 'secret ride.fit', bytes: Buffer.from('x') }),
    () => service.requestLogin(CLIENT, PASSWORD),
  ])
    said.push(String(await errorOf(call())))
  expect(said.filter((text) => text.includes('Too short'))).toEqual([
    expect.stringMatching(
      /upload of "secret ride\.fit": the service refused the request \(status 404\): "Too short"$/,
    ),
  ])
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
