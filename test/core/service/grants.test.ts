import { describe, expect, it } from 'vitest'
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
  it('sends the password with Basic credentials, and returns a pair with its times by our clock', async () => {
    const body = { ...tokenBody(1), expires_in: 100 }
    const { service, requests, clock, vault } = openTestService(() => ({ body }))
    const person = { username: 'ri der', password: 'p&w=+%é' }
    const pair = await service.requestLogin(CLIENT, { ...PASSWORD, ...person })
    expect(pair).toEqual({
      accessToken: 'access-1',
      refreshToken: 'refresh-1',
      obtainedAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 100_000),
    })
    expect(requests[0]).toMatchObject({ method: 'POST', path: '/oauth/token' })
    expect(requests[0]?.headers.authorization).toBe(`Basic ${btoa('service_public:service_public')}`)
    const sent = Object.fromEntries(new URLSearchParams(requests[0]?.body))
    expect(sent).toEqual({ grant_type: 'password', ...person })
    expect(vault.writes).toEqual([])
  })

  it('sends a code with the redirect address, and form-encodes odd client credentials', async () => {
    const { service, requests } = openTestService(() => ({ body: tokenBody(1) }))
    const client = { ...CLIENT, clientId: 'my:app', clientSecret: 'a b%' }
    const redirectUri = 'http://127.0.0.1:8000/cb'
    await service.requestLogin(client, { type: 'authorization_code', code: 'c1', redirectUri })
    expect(requests[0]?.headers.authorization).toBe(`Basic ${btoa('my%3Aapp:a+b%25')}`)
    expect(Object.fromEntries(new URLSearchParams(requests[0]?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'c1',
      redirect_uri: redirectUri,
    })
  })

  it('keeps the refresh token when a refresh returns no new one', async () => {
    const { service, account, vault, clock } = openTestService(() => ({ body: { access_token: 'a2' } }))
    clock.advance(6 * 24 * 3_600_000)
    expect(await account.refreshTokenIfDue()).toBe('refreshed')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'a2', refreshToken: 'refresh-0' })
    expect(await errorOf(service.requestLogin(CLIENT, PASSWORD))).toMatchObject({ code: 'bad_shape' })
  })

  it.each([
    [400, { error: 'invalid_grant' }, 'CredentialsRejectedError', 'invalid_grant'],
    [200, { error: 'invalid_grant' }, 'CredentialsRejectedError', 'invalid_grant'],
    [401, {}, 'CredentialsRejectedError', 'login_refused'],
    [400, {}, 'CredentialsRejectedError', 'login_refused'],
    [401, { error: 'invalid_client' }, 'RejectedError', 'invalid_client'],
    [200, { error: 'unauthorized_client' }, 'RejectedError', 'unauthorized_client'],
    [200, { error: 'odd' }, 'RejectedError', 'rejected'],
    [299, {}, 'UnexpectedResponseError', 'bad_shape'],
    [300, tokenBody(1), 'UnexpectedResponseError', 'redirect_refused'],
    [403, {}, 'RejectedError', 'rejected'],
    [429, {}, 'RateLimitedError', 'rate_limited'],
    [503, { error: 'invalid_grant' }, 'TransientError', 'server_error'],
    [200, { access_token: '' }, 'UnexpectedResponseError', 'bad_shape'],
  ])('answered with %i %j is a %s', async (status, body, name, code) => {
    const { service, requests } = openTestService(() => ({ status, body }))
    expect(await errorOf(service.requestLogin(CLIENT, PASSWORD))).toMatchObject({ name, code })
    expect(requests).toHaveLength(1)
  })

  const WEEK_S = 604_800
  const FORTNIGHT_S = 2 * WEEK_S
  it.each([
    ['999999999999', FORTNIGHT_S],
    ['1e15', FORTNIGHT_S],
    ['1e308', FORTNIGHT_S],
    ['"999999999999"', FORTNIGHT_S],
    ['1e400', WEEK_S],
    ['"1e400"', WEEK_S],
    ['-1', WEEK_S],
    ['-1e308', WEEK_S],
    ['0', WEEK_S],
    ['1e-9', WEEK_S],
    ['"NaN"', WEEK_S],
    ['"a week"', WEEK_S],
    ['null', WEEK_S],
    ['[3600]', WEEK_S],
    ['90.5', 90.5],
    ['" 90 "', 90],
  ])('with an expires_in of %s gives tokens with a life of %d s', async (sent, seconds) => {
    const body = `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":${sent}}`
    const { service, clock } = openTestService(() => ({ body }))
    const pair = await service.requestLogin(CLIENT, CODE)
    expect(pair.expiresAt).toEqual(new Date(clock.now().getTime() + seconds * 1_000))
  })

  it('makes the address for the browser', () => {
    const { service } = openTestService(() => ({}))
    const url = service.authorizeUrl(
      { baseUrl: 'https://service.test/api', clientId: 'app' },
      { redirectUri: 'http://127.0.0.1:8000/cb?x=1', state: 's&t' },
    )
    expect(url.startsWith('https://service.test/api/oauth/authorize?')).toBe(true)
    expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
      response_type: 'code',
      client_id: 'app',
      redirect_uri: 'http://127.0.0.1:8000/cb?x=1',
      state: 's&t',
    })
  })
})

describe('the page that begins a login', () => {
  const redirectUri = 'http://127.0.0.1:8000/cb'
  const refusal = (reply: Reply | Error) =>
    openTestService(() => reply).service.fetchAuthorizeRefusal(CLIENT, { redirectUri })

  it('is a failure when the connection fails; later errors do not concern the login', async () => {
    const failure = (code: string) => Object.assign(new Error(code), { code })
    expect(await errorOf(refusal(failure('ECONNREFUSED')))).toMatchObject({ code: 'connect_failed' })
    expect(await refusal(failure('ECONNRESET'))).toBeUndefined()
  })

  it.each([
    [200, {}, undefined],
    [200, { error: 'invalid_client' }, 'invalid_client'],
    [400, {}, 'status 400'],
    [403, {}, undefined],
    [499, { error: 'A <b>' }, 'an error'],
    [500, { error: 'invalid_client' }, undefined],
  ])('that answers %s with %j refuses with %s', async (status, body, word) => {
    expect(await refusal({ status, body })).toBe(word)
  })

  it.each([
    [`${redirectUri}?error=invalid_scope`, 'invalid_scope'],
    [`${redirectUri}?code=1`, undefined],
    ['http://other.test/cb?error=invalid_scope', undefined],
  ])('that redirects to %s refuses with %s', async (location, word) => {
    expect(await refusal({ status: 302, headers: { location } })).toBe(word)
  })
})
