import { describe, expect, it } from 'vitest'
import { readTable } from '../../kit/table.ts'
import {
  CLIENT,
  errorOf,
  openTestService,
  PASSWORD,
  type Reply,
  type SentRequest,
} from './open-test-service.ts'

const INFO = { body: { success: true } }

/** Makes a service that redirects every request except `/end`. */
function redirectTo(location: string | undefined, status = 302) {
  return (requests: SentRequest): Reply =>
    requests.path === '/end' ? INFO : { status, headers: location === undefined ? {} : { location } }
}

describe('a redirect', () => {
  it.each([302, 308])('with status %i within the origin is followed', async (status) => {
    const { account, requests } = openTestService(redirectTo('/end', status))
    await account.fetchTrainingInfo({})
    expect(requests.map((one) => one.path)).toEqual(['/oauth/training_info', '/end'])
    expect(requests[1]?.headers.authorization).toBe('Bearer access-0')
  })

  const refused = { name: 'UnexpectedResponseError', code: 'redirect_refused' }

  it.each(
    readTable(`
      another host | https://u:pw@Elsewhere.test/end/secret?t=secret | 1 | another server, https://elsewhere.test
      plain http | http://service.test | 1 | another server, http://service.test
      another port | https://service.test:8443/end | 1 | another server, https://service.test:8443
      another scheme | javascript:alert(1) | 1 | another server, javascript:
      an address that cannot be read | https:// | 1 | an address that cannot be read
      nowhere | | 1 | an address that cannot be read
      itself a fourth time | /again | 4 | https://service.test too many times`),
  )('to %s is refused, and the token is not sent there', async (_name, location, sent, target = '') => {
    const { account, requests } = openTestService(redirectTo(location || undefined))
    const message = `training info: the service redirects to ${target} (status 302)`
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject({ ...refused, message })
    expect(requests).toHaveLength(Number(sent))
  })

  it.each(
    readTable(`
      /end?code=secret | another path of https://service.test
      https://elsewhere.test/end?t=secret | another server, https://elsewhere.test`),
  )('of a POST to %s is refused, and the error names its target', async (location, target = '') => {
    const { service, requests } = openTestService(redirectTo(location, 307))
    const message = `signing in: the service redirects to ${target} (status 307)`
    const error = await errorOf(service.requestLogin(CLIENT, PASSWORD))
    expect(error).toMatchObject({ ...refused, message })
    expect(requests).toHaveLength(1)
  })
})

it.each(
  readTable(`
    https://service.test/oauth/workout-download/w1.erg | text/plain | [COURSE HEADER] | read
    /oauth/workout-download/w1.erg | text/xml | <workout_file/> | read
    /oauth/workout-download/w1.erg | text/html | <!DOCTYPE html><p>login | not_a_file
    https://elsewhere.test/w1.erg | text/plain | [COURSE HEADER] | foreign_origin
    http://service.test/w1.erg | text/plain | [COURSE HEADER] | foreign_origin
    https://service.test@elsewhere.test/w1.erg | text/plain | [COURSE HEADER] | foreign_origin
    file:///etc/passwd | text/plain | [COURSE HEADER] | foreign_origin`),
)(
  'a workout file at %s with type %s and content %s gives %s',
  async (url = '', type = '', body = '', end) => {
    const { account, requests } = openTestService(() => ({ body, headers: { 'content-type': type } }))
    const ended = await account.downloadWorkout(url).then(
      ({ value }) => [value === body && 'read'],
      ({ code, name }) => [code, name === 'RejectedError' ? 'RejectedError' : ''].filter(Boolean),
    )
    expect(ended).toEqual(end === 'foreign_origin' ? [end, 'RejectedError'] : [end])
    const sent = end === 'foreign_origin' ? [] : ['/oauth/workout-download/w1.erg']
    expect(requests.map(({ path }) => path)).toEqual(sent)
  },
)
