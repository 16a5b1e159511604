import { describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  BASE_URL,
  CLIENT,
  errorOf,
  openTestService,
  type Reply,
  type SentRequest,
} from './open-test-service.ts'

const INFO = { body: { success: true } }

/** The same redirect for everything but `/end`. */
function redirectTo(location: string | undefined, status = 302) {
  return (requests: SentRequest): Reply =>
    requests.path === '/end' ? INFO : { status, headers: location === undefined ? {} : { location } }
}

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'with status %i within the origin is followed with the token',
    async (status) => {
      const { service, requests } = openTestService(redirectTo('/end', status))
      await service.forAccount(ACCOUNT).fetchTrainingInfo({})
      expect(requests.map((one) => one.path)).toEqual(['/oauth/training_info', '/end'])
      expect(requests[1]?.headers.authorization).toBe('Bearer access-0')
    },
  )

  it('is not followed a fourth time', async () => {
    const { service, requests } = openTestService(redirectTo('/again'))
    expect(await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))).toMatchObject({
      name: 'UnexpectedResponseError',
      code: 'redirect_refused',
    })
    expect(requests).toHaveLength(4)
  })

  it.each([
    ['another host', 'https://elsewhere.test/end'],
    ['plain http', BASE_URL.replace('https', 'http')],
    ['another port', `${BASE_URL}:8443/end`],
    ['another scheme', 'javascript:alert(1)'],
    ['an address that cannot be read', 'https://'],
    ['nowhere', undefined],
  ])('to %s is refused, and the token stays here', async (_name, location) => {
    const { service, requests } = openTestService(redirectTo(location))
    expect(await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))).toMatchObject({
      code: 'redirect_refused',
    })
    expect(requests).toHaveLength(1)
  })

  it('of a POST is refused', async () => {
    const { service, requests } = openTestService(redirectTo('/end', 307))
    expect(
      await errorOf(service.requestLogin(CLIENT, { type: 'password', username: 'u', password: 'p' })),
    ).toMatchObject({
      code: 'redirect_refused',
    })
    expect(requests).toHaveLength(1)
  })
})

describe('the address of a workout file', () => {
  const file = (): Reply => ({ body: '[COURSE HEADER]\r\n', headers: { 'content-type': 'text/plain' } })

  it.each([
    `${BASE_URL}/oauth/workout-download/w1.erg`,
    '/oauth/workout-download/w1.erg',
    'oauth/workout-download/w1.erg',
  ])('may be %s', async (url) => {
    const { service, requests } = openTestService(file)
    expect((await service.forAccount(ACCOUNT).downloadWorkout(url)).value).toBe('[COURSE HEADER]\r\n')
    expect(requests[0]?.path).toBe('/oauth/workout-download/w1.erg')
  })

  it.each([
    'https://elsewhere.test/w1.erg',
    '//elsewhere.test/w1.erg',
    'http://service.test/w1.erg',
    'https://service.test@elsewhere.test/w1.erg',
    'file:///etc/passwd',
  ])('must have the own origin: %s is refused unsent', async (url) => {
    const { service, requests } = openTestService(file)
    expect(await errorOf(service.forAccount(ACCOUNT).downloadWorkout(url))).toMatchObject({
      name: 'RejectedError',
      code: 'foreign_origin',
    })
    expect(requests).toEqual([])
  })

  it('may return XML, but not an HTML page', async () => {
    const zwo = openTestService(() => ({ body: '<workout_file/>', headers: { 'content-type': 'text/xml' } }))
    expect((await zwo.service.forAccount(ACCOUNT).downloadWorkout('/w.zwo')).value).toBe('<workout_file/>')
    const page = openTestService(() => ({
      body: '<!DOCTYPE html><p>login',
      headers: { 'content-type': 'text/html' },
    }))
    expect(await errorOf(page.service.forAccount(ACCOUNT).downloadWorkout('/w.zwo'))).toMatchObject({
      code: 'not_a_file',
    })
  })
})
