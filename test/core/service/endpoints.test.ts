import { describe, expect, it } from 'vitest'
import { readTable } from '../../kit/table.ts'
import { ACCOUNT, BASE_URL, errorOf, openTestService, type Reply } from './open-test-service.ts'

/** Opens an account whose every request is answered alike, or by these replies first. */
function openAccount(reply: Reply, baseUrl = BASE_URL, before: Reply[] = []) {
  const opened = openTestService(() => before.shift() ?? reply)
  return { ...opened, account: opened.service.forAccount({ ...ACCOUNT, baseUrl }) }
}

const EMPTY = { body: { success: true, activities: [], workouts: [], workout: [] } }
const MARCH = { from: new Date('2024-03-01T00:00:00.900Z'), to: new Date('2024-03-31T00:00:00.100Z') }

describe('what is sent', () => {
  it('is a GET with token, user agent, whole seconds, and only the fields that are wanted', async () => {
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

  it('keeps the path of the base URL and escapes an identity to one segment, or is not sent', async () => {
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

describe('how an answer is judged', () => {
  const fetched = (reply: Reply, path = 'ab12') =>
    openAccount(reply).account.fetchActivity(path, { samples: false })

  // errors.test.ts tries every status and every content.
  it.each(
    readTable(`
      404 | | RejectedError rejected
      500 | | TransientError server_error
      200 | {"success":false} | RejectedError success_false
      200 | {"summary":{}} | UnexpectedResponseError bad_shape
      200 | <html>login</html> | UnexpectedResponseError not_json
      200 | {"success":true,"na | UnexpectedResponseError cut_json`),
  )('%s with %s is %s of that activity', async (status, body, expected) => {
    const { name, code, message } = await errorOf(fetched({ status: Number(status), body }))
    expect([`${name} ${code}`, message]).toEqual([expected, expect.stringMatching(/^activity ab12: /)])
  })

  it('reads JSON with any content type and with a byte order mark', async () => {
    const headers = { 'content-type': 'text/html; charset=UTF-8' }
    expect((await fetched({ body: '\uFEFF {"success":true,"name":"Ride"}', headers })).value.name).toBe(
      'Ride',
    )
  })

  it('names an object by its first characters when it has more than 80', async () => {
    const messageOf = async (path: string) =>
      (await errorOf(fetched({ status: 404, body: '' }, path))).message
    expect(await messageOf('x'.repeat(80))).toMatch(/^activity x{80}: /)
    expect(await messageOf('x'.repeat(81))).toMatch(/^activity x{79}…: /)
  })
})

describe('a 429', () => {
  it.each(
    readTable(`
      in seconds | 17 | | 17000
      as a date by our clock | Wed, 01 May 2024 12:00:45 GMT | | 45000
      as a date by the clock of the service | Wed, 01 May 2024 12:00:45 GMT | Wed, 01 May 2024 12:00:05 GMT | 40000
      without a time | | | 60000
      with nonsense | soon | | 60000
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
    'or a %i with a Retry-After of %s s pauses every later call, after a 503 up to a minute',
    async (status, after, ms) => {
      const { account, service, slept } = openAccount(EMPTY, BASE_URL, [
        { status, headers: { 'retry-after': after } },
      ])
      await account.listWorkouts().catch(() => service.listDefaultWorkouts(BASE_URL))
      expect(slept.reduce((sum, one) => sum + one, 0)).toBe(ms)
    },
  )
})
