import { describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  BASE_URL,
  errorOf,
  openTestService,
  type Reply,
  type SentRequest,
} from './open-test-service.ts'

/** Opens an account whose every request is answered alike. */
function openAccount(reply: Reply | ((requests: SentRequest) => Reply), baseUrl = BASE_URL) {
  const opened = openTestService(typeof reply === 'function' ? reply : () => reply)
  return { ...opened, account: opened.service.forAccount({ ...ACCOUNT, baseUrl }) }
}

/** Answers the first request so, and every later one with an empty list of workouts. */
const once = (reply: Reply) => {
  const replies = [reply]
  return () => replies.shift() ?? { body: { success: true, workouts: [] } }
}

const MARCH = { from: new Date('2024-03-01T00:00:00.900Z'), to: new Date('2024-03-31T00:00:00.100Z') }

describe('what is sent', () => {
  it('is a GET with token, user agent and whole seconds for the activity list', async () => {
    const { account, requests } = openAccount({ body: { success: true, activities: [] } })
    await account.listActivities({ ...MARCH, updatedFrom: new Date('2024-03-02T00:00:00.999Z') })
    expect(requests[0]?.path).toBe('/oauth/activity?from=1709251200&to=1711843201&updated_from=1709337600')
    expect(requests[0]?.headers).toEqual({
      accept: '*/*',
      'accept-encoding': 'gzip',
      authorization: 'Bearer access-0',
      'user-agent': 'musette/test',
    })
  })

  it('requests samples only when they are wanted', async () => {
    const { account, requests } = openAccount({ body: { success: true } })
    await account.fetchActivity('ab12', { samples: true })
    await account.fetchActivity('ab12', { samples: false })
    expect(requests.map((one) => one.path)).toEqual([
      '/oauth/activity/ab12?include_session_data=1',
      '/oauth/activity/ab12?include_session_data=0',
    ])
  })

  it('keeps the path of the base URL and escapes an identity to one segment', async () => {
    const { account, requests } = openAccount({ body: { success: true, workout: [] } }, `${BASE_URL}/api/`)
    await account.fetchWorkout('a/../b?c#d')
    expect(requests[0]?.path).toBe('/api/oauth/workout/a%2F..%2Fb%3Fc%23d')
  })

  it.each(['', '.', '../..'])('is nothing for the path "%s"', async (path) => {
    const { account, requests } = openAccount({ body: { success: true } })
    expect(await errorOf(account.fetchActivity(path, { samples: false }))).toMatchObject({
      code: 'bad_path',
    })
    expect(requests).toEqual([])
  })

  it('names the format of the workout file only when one is wanted', async () => {
    const { account, requests } = openAccount({ body: { success: true } })
    await account.fetchTrainingInfo({})
    await account.fetchTrainingInfo({ format: 'zwo' })
    expect(requests.map((one) => one.path)).toEqual([
      '/oauth/training_info',
      '/oauth/training_info?format=zwo',
    ])
  })

  it('has no token for the default workouts', async () => {
    const { service, requests } = openAccount({ body: { success: true, workouts: [{ path: 'w1' }] } })
    const answer = await service.listDefaultWorkouts(BASE_URL)
    expect(answer.value.entries.map((entry) => entry.path)).toEqual(['w1'])
    expect(requests[0]).toMatchObject({ path: '/oauth/workout' })
    expect(requests[0]?.headers).not.toHaveProperty('authorization')
  })
})

describe('how an answer is judged', () => {
  const cases: Array<[string, Reply, Record<string, unknown>]> = [
    // errors.test.ts tries every status and every content.
    ['a 404', { status: 404, body: '' }, { name: 'RejectedError', code: 'rejected', status: 404 }],
    ['a 500', { status: 500, body: '' }, { name: 'TransientError', code: 'server_error' }],
    ['success false', { body: { success: false } }, { name: 'RejectedError', code: 'success_false' }],
    ['no success', { body: { summary: {} } }, { name: 'UnexpectedResponseError', code: 'bad_shape' }],
    ['an HTML page', { body: '<html>login</html>' }, { name: 'UnexpectedResponseError', code: 'not_json' }],
    ['cut JSON', { body: '{"success":true,"na' }, { name: 'UnexpectedResponseError', code: 'cut_json' }],
  ]
  it.each(cases)('%s', async (_name, reply, expected) => {
    const { account } = openAccount(reply)
    const error = await errorOf(account.fetchActivity('ab12', { samples: false }))
    expect(error).toMatchObject(expected)
    expect(error.message).toMatch(/^activity ab12: /)
  })

  it('reads JSON with any content type and with a byte order mark', async () => {
    const headers = { 'content-type': 'text/html; charset=UTF-8' }
    const { account } = openAccount({ body: '\uFEFF {"success":true,"name":"Ride"}', headers })
    expect((await account.fetchActivity('ab12', { samples: false })).value.name).toBe('Ride')
  })

  it('names an object by its first characters when it has more than 80', async () => {
    const { account } = openAccount({ status: 404, body: '' })
    const messageOf = async (path: string) =>
      (await errorOf(account.fetchActivity(path, { samples: false }))).message
    expect(await messageOf('x'.repeat(80))).toMatch(/^activity x{80}: /)
    expect(await messageOf('x'.repeat(81))).toMatch(/^activity x{79}…: /)
  })

  it('retries a GET twice after a 5xx and never after a 4xx', async () => {
    const broken = openAccount({ status: 502, body: '' })
    await errorOf(broken.account.listWorkouts())
    expect(broken.requests).toHaveLength(3)
    const refused = openAccount({ status: 404, body: '' })
    await errorOf(refused.account.listWorkouts())
    expect(refused.requests).toHaveLength(1)
  })
})

describe('a 429', () => {
  const cases: Array<[string, Record<string, string>, number]> = [
    ['in seconds', { 'retry-after': '17' }, 17_000],
    ['as a date by our clock', { 'retry-after': 'Wed, 01 May 2024 12:00:45 GMT' }, 45_000],
    [
      'as a date by the clock of the service',
      { 'retry-after': 'Wed, 01 May 2024 12:00:45 GMT', date: 'Wed, 01 May 2024 12:00:05 GMT' },
      40_000,
    ],
    ['without a time', {}, 60_000],
    ['with nonsense', { 'retry-after': 'soon' }, 60_000],
    ['with zero', { 'retry-after': '0' }, 1_000],
    ['with a year', { 'retry-after': '31536000' }, 86_400_000],
  ]
  it.each(cases)('says how long to wait: %s', async (_name, headers, retryAfterMs) => {
    const { account, requests } = openAccount({ status: 429, body: '', headers })
    expect(await errorOf(account.listWorkouts())).toMatchObject({ name: 'RateLimitedError', retryAfterMs })
    expect(requests).toHaveLength(1)
  })

  it('pauses every later call until then', async () => {
    const { account, service, slept } = openAccount(once({ status: 429, headers: { 'retry-after': '17' } }))
    await errorOf(account.listWorkouts())
    await service.listDefaultWorkouts(BASE_URL)
    expect(slept).toEqual([17_000])
  })

  it.each([
    ['5', 5_000],
    ['3600', 60_000],
  ])(
    'also pauses after a 503 with a Retry-After of %s s, up to a minute, before the next attempt',
    async (after, pauseMs) => {
      const { account, slept } = openAccount(once({ status: 503, headers: { 'retry-after': after } }))
      await account.listWorkouts()
      expect(slept.reduce((sum, ms) => sum + ms, 0)).toBe(pauseMs)
    },
  )
})
