import { describe, expect, it } from 'vitest'
import {
  BASE_URL,
  CLIENT,
  errorOf,
  openTestService,
  PASSWORD,
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
  it.each([301, 302, 303, 307, 308])('with status %i within the origin is followed', async (status) => {
    const { account, requests } = openTestService(redirectTo('/end', status))
    await account.fetchTrainingInfo({})
    expect(requests.map((one) => one.path)).toEqual(['/oauth/training_info', '/end'])
    expect(requests[1]?.headers.authorization).toBe('Bearer access-0')
  })

  const refused = { name: 'UnexpectedResponseError', code: 'redirect_refused' }

  it('is not followed a fourth time', async () => {
    const { account, requests } = openTestService(redirectTo('/again'))
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject(refused)
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
    const { account, requests } = openTestService(redirectTo(location))
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject(refused)
    expect(requests).toHaveLength(1)
  })

  it('of a POST is refused', async () => {
    const { service, requests } = openTestService(redirectTo('/end', 307))
    expect(await errorOf(service.requestLogin(CLIENT, PASSWORD))).toMatchObject(refused)
    expect(requests).toHaveLength(1)
  })
})

describe('the address of a workout file', () => {
  const open = (body: string, type: string) =>
    openTestService(() => ({ body, headers: { 'content-type': type } }))
  const openText = () => open('[COURSE HEADER]\r\n', 'text/plain')

  it.each([
    `${BASE_URL}/oauth/workout-download/w1.erg`,
    '/oauth/workout-download/w1.erg',
    'oauth/workout-download/w1.erg',
  ])('may be %s', async (url) => {
    const { account, requests } = openText()
    expect((await account.downloadWorkout(url)).value).toBe('[COURSE HEADER]\r\n')
    expect(requests[0]?.path).toBe('/oauth/workout-download/w1.erg')
  })

  it.each([
    'https://elsewhere.test/w1.erg',
    '//elsewhere.test/w1.erg',
    'http://service.test/w1.erg',
    'https://service.test@elsewhere.test/w1.erg',
    'file:///etc/passwd',
  ])('must have the own origin: %s is refused unsent', async (url) => {
    const { account, requests } = openText()
    const foreign = { name: 'RejectedError', code: 'foreign_origin' }
    expect(await errorOf(account.downloadWorkout(url))).toMatchObject(foreign)
    expect(requests).toEqual([])
  })

  it('may return XML, but not an HTML page', async () => {
    const zwo = open('<workout_file/>', 'text/xml')
    expect((await zwo.account.downloadWorkout('/w.zwo')).value).toBe('<workout_file/>')
    const page = open('<!DOCTYPE html><p>login', 'text/html')
    expect(await errorOf(page.account.downloadWorkout('/w.zwo'))).toMatchObject({ code: 'not_a_file' })
  })
})
