import { describe, expect, it } from 'vitest'
import { readTable } from '../../kit/table.ts'
import {
  CLIENT,
  CODE,
  errorOf,
  openTestService,
  PASSWORD,
  type Reply,
  tokenBody,
} from './open-test-service.ts'

describe('a grant', () => {
  it('sends the password with Basic credentials; the pair has our clock’s times', async () => {
    const body = { ...tokenBody(1), expires_in: 100 }
    const { service, requests, clock, vault } = openTestService(() => ({ body }))
    const person = { username: 'ri der', password: 'p&w=+%é' }
    const pair = await service.requestLogin(CLIENT, { ...PASSWORD, ...person })
    const [obtainedAt, expiresAt] = [clock.now(), new Date(clock.now().getTime() + 100_000)]
    expect(pair).toEqual({ accessToken: 'access-1', refreshToken: 'refresh-1', obtainedAt, expiresAt })
    expect(requests[0]).toMatchObject({ method: 'POST', path: '/oauth/token' })
    expect(requests[0]?.headers.authorization).toBe(`Basic ${btoa('service_public:service_public')}`)
    const sent = Object.fromEntries(new URLSearchParams(requests[0]?.body))
    expect(sent).toEqual({ grant_type: 'password', ...person })
    expect(vault.writes).toEqual([])
  })

  it('sends a code with the redirect address, and form-encodes client credentials', async () => {
    const { service, requests } = openTestService(() => ({ body: tokenBody(1) }))
    await service.requestLogin({ ...CLIENT, clientId: 'my:app', clientSecret: 'a b%' }, CODE)
    expect(requests[0]?.headers.authorization).toBe(`Basic ${btoa('my%3Aapp:a+b%25')}`)
    const { code, redirectUri: redirect_uri } = CODE
    const form = Object.fromEntries(new URLSearchParams(requests[0]?.body))
    expect(form).toEqual({ grant_type: 'authorization_code', code, redirect_uri })
  })

  it('keeps the refresh token if a refresh returns no new one', async () => {
    const { service, account, vault, clock } = openTestService(() => ({ body: { access_token: 'a2' } }))
    clock.advance(6 * 24 * 3_600_000)
    expect(await account.refreshTokenIfDue()).toBe('refreshed')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'a2', refreshToken: 'refresh-0' })
    expect(await errorOf(service.requestLogin(CLIENT, PASSWORD))).toMatchObject({ code: 'bad_shape' })
  })

  it.each(
    readTable(`
      400 | {"error":"invalid_grant"} | CredentialsRejectedError | invalid_grant
      200 | {"error":"invalid_grant"} | CredentialsRejectedError | invalid_grant
      401 | {} | CredentialsRejectedError | login_refused
      401 | {"error":"invalid_client"} | RejectedError | invalid_client
      200 | {"error":"unauthorized_client"} | RejectedError | unauthorized_client
      200 | {"error":"odd"} | RejectedError | rejected
      200 | {} | UnexpectedResponseError | bad_shape
      300 | {"access_token":"a","refresh_token":"r"} | UnexpectedResponseError | redirect_refused
      503 | {"error":"invalid_grant"} | TransientError | server_error`),
  )('answered with %s %s is a %s', async (status, body, name, code) => {
    const { service, requests } = openTestService(() => ({ status: Number(status), body }))
    expect(await errorOf(service.requestLogin(CLIENT, PASSWORD))).toMatchObject({ name, code })
    expect(requests).toHaveLength(1)
  })

  const NGINX = '<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>'
  const foreign = (status: number, content = 'HTML') =>
    `sign-in failed: service.test answered ${status} with ${content}, not as the service does; is there a proxy?`
  const tls =
    'sign-in failed: service.test expects https at this port (status 400); write https:// into MUSETTE_BASE_URL'
  it.each<[number, string, string, string]>([
    [401, '<html><title>Sign in to the gateway</title></html>', 'not_json', foreign(401)],
    [400, '<!DOCTYPE html><p>Bad request', 'not_json', foreign(400)],
    [403, ' <HTML>', 'not_json', foreign(403)],
    [407, '<html>', 'not_json', foreign(407)],
    [200, '<html>the portal of a hotel</html>', 'not_json', foreign(200)],
    [401, 'Access denied by policy', 'not_json', foreign(401, 'a text that is not JSON')],
    [400, NGINX, 'https_expected', tls],
    [400, `Reason: You're speaking plain HTTP to an SSL-enabled server port.`, 'https_expected', tls],
    [400, 'Client sent an HTTP request to an HTTPS server.', 'https_expected', tls],
    [502, '<html>', 'server_error', 'signing in: the service failed (status 502)'],
  ])('answered with %i %s does not blame the password', async (status, body, code, message) => {
    for (const grant of [PASSWORD, CODE]) {
      const { service } = openTestService(() => ({ status, body }))
      expect(await errorOf(service.requestLogin(CLIENT, grant))).toMatchObject({ code, message })
    }
    const { account, vault, clock, lines } = openTestService(() => ({ status, body }))
    clock.advance(4 * 24 * 3_600_000)
    expect(await account.refreshTokenIfDue()).toBe('fresh')
    expect([vault.writes, vault.rows.get(1)?.needsLogin]).toEqual([['failure'], false])
    expect(lines.join()).toContain(`"code":"${code}"`)
  })

  const [WEEK_S, FORTNIGHT_S] = [604_800, 1_209_600]
  it.each([
    ['999999999999', FORTNIGHT_S],
    ['1e400', WEEK_S],
    ['-1', WEEK_S],
    ['"a week"', WEEK_S],
    ['" 90.5 "', 90.5],
  ])('with an expires_in of %s gives tokens with a life of %d s', async (sent, seconds) => {
    const body = `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":${sent}}`
    const { service, clock } = openTestService(() => ({ body }))
    const pair = await service.requestLogin(CLIENT, CODE)
    expect(pair.expiresAt).toEqual(new Date(clock.now().getTime() + seconds * 1_000))
  })
})

describe('the page that starts a login', () => {
  const redirectUri = 'http://127.0.0.1:8000/cb'
  const refusal = (reply: Reply | Error) =>
    openTestService(() => reply).service.fetchAuthorizeRefusal(CLIENT, { redirectUri })

  it('throws if the connection fails; later errors do not affect the login', async () => {
    const failure = (code: string) => Object.assign(new Error(code), { code })
    expect(await errorOf(refusal(failure('ECONNREFUSED')))).toMatchObject({ code: 'connect_failed' })
    expect(await refusal(failure('ECONNRESET'))).toBeUndefined()
  })

  it.each(
    readTable(`
      200 | {"error":"invalid_client"} | | invalid_client
      400 | {} | | status 400
      403 | {} | |
      499 | {"error":"A <b>"} | | an error
      500 | {"error":"invalid_client"} | |
      302 | {} | http://127.0.0.1:8000/cb?error=invalid_scope | invalid_scope
      302 | {} | http://127.0.0.1:8000/cb?code=1 |
      302 | {} | http://other.test/cb?error=invalid_scope |`),
  )(
    'that answers %s with %s and location "%s" gives the refusal "%s"',
    async (status, body, location, word) => {
      const headers = location ? { headers: { location } } : {}
      expect((await refusal({ status: Number(status), body, ...headers })) ?? '').toBe(word)
    },
  )
})
