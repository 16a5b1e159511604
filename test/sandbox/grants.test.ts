import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { basic, DEMO, openClient, PUBLIC, type TestClient } from './client.ts'

const THIRD = basic('third:th:ird')
const REDIRECT = 'http://127.0.0.1:5173/callback'
const STATE = 'a%2Fb%20c+d~%C3%A9%3D%26'
const QUERY = { client_id: 'demo_app', redirect_uri: REDIRECT, response_type: 'code' }
const PATH = `/oauth/authorize?${new URLSearchParams(QUERY)}&state=${STATE}`

let client: TestClient
beforeEach(async () => {
  client = await openClient({ activities: 3, clients: [{ id: 'third', secret: 'th:ird' }] })
})
afterEach(() => client.sandbox.close())

const password = { grant_type: 'password', username: 'rider', password: 'rider' }
const refresh = (token: unknown, authorization?: string) =>
  client.token({ grant_type: 'refresh_token', refresh_token: String(token) }, authorization)

/** Signs in and consents as a browser does, and returns the redirect address. */
async function approve(): Promise<string> {
  const browse = (path: string, init: RequestInit) =>
    fetch(`${client.sandbox.url}${path}`, { redirect: 'manual', ...init })
  const post = (form: Record<string, string>, cookie = '') =>
    browse(PATH, { method: 'POST', headers: { cookie }, body: new URLSearchParams(form) })
  const login = await post({ step: 'login', username: 'rider', password: 'rider' })
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const consent = await browse(login.headers.get('location') ?? '', { headers: { cookie } })
  const csrf = /name="csrf" value="([^"]+)"/.exec(await consent.text())?.[1] ?? ''
  const decided = await post({ step: 'consent', csrf, decision: 'approve' }, cookie)
  return decided.headers.get('location') ?? ''
}

const exchange = (code: string, redirect = REDIRECT, authorization = DEMO) =>
  client.token({ grant_type: 'authorization_code', code, redirect_uri: redirect }, authorization)

describe('the token endpoint', () => {
  it('refuses a refresh token of another client, which can still use it', async () => {
    const { body } = await client.token(password, THIRD)
    for (const other of [PUBLIC, DEMO]) {
      const refused = await refresh(body.refresh_token, other)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await refresh(body.refresh_token, THIRD)).status).toBe(200)
  })

  it('expires a refresh token after two weeks, or after a set time', async () => {
    const first = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await refresh(first.body.refresh_token)).body.error).toBe('invalid_grant')
    await client.steer('PATCH', 'settings', { refresh_token_seconds: 20 * 86_400 })
    const second = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await refresh(second.body.refresh_token)).status).toBe(200)
  })

  it('gives a new pair for a refresh token only once, even for two requests at the same time', async () => {
    const { body } = await client.token(password)
    const both = await Promise.all([refresh(body.refresh_token), refresh(body.refresh_token)])
    const [second, refused] = both.sort((one, other) => one.status - other.status)
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant', error_description: expect.any(String) },
    })
    expect(second?.status).toBe(200)
    for (const name of ['access_token', 'refresh_token']) expect(second?.body[name]).not.toBe(body[name])
    expect((await refresh(second?.body.refresh_token)).status).toBe(200)
  })

  it.each([
    ['credentials percent-encoded', basic('service%5Fpublic:service%5Fpublic'), 'p', 'p'],
    ['credentials in the form', '', 'p&client_id=service_public&client_secret=service_public&scope=', 'p'],
    ['a password with + for a space', PUBLIC, 'p+w%26x', 'p w&x'],
    ['a password with %20 for a space', PUBLIC, 'p%20w', 'p w'],
    ['a password with signs that were not escaped', PUBLIC, '100%!@#é=+', '100%!@#é=+'],
  ])('understands %s', async (_what, authorization, sent, meant) => {
    await client.steer('POST', 'riders', { username: 'odd', password: meant })
    const type = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
    const response = await fetch(`${client.sandbox.url}/oauth/token`, {
      method: 'POST',
      headers: authorization ? { ...type, authorization } : type,
      body: `grant_type=password&username=odd&password=${sent}`,
    })
    expect(response.status).toBe(200)
  })
})

describe('the browser flow', () => {
  it('returns the code, and the state byte for byte, and exchanges the code for a working pair', async () => {
    const location = await approve()
    expect(location.startsWith(`${REDIRECT}?code=`)).toBe(true)
    expect(location.endsWith(`&state=${STATE}`)).toBe(true)
    const { status, body } = await exchange(new URL(location).searchParams.get('code') ?? '')
    expect(status).toBe(200)
    expect((await client.get('/oauth/workouts', String(body.access_token))).status).toBe(200)
    const refreshing = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    expect((await client.token(refreshing, PUBLIC)).status).toBe(400)
    expect((await client.token(refreshing, DEMO)).status).toBe(200)
  })

  it('accepts a code only once, in time, from its own client and redirect address', async () => {
    const code = async () => new URL(await approve()).searchParams.get('code') ?? ''
    const used = await code()
    const first = await exchange(used)
    expect((await exchange(used)).body.error).toBe('invalid_grant')
    expect((await client.get('/oauth/workouts', String(first.body.access_token))).status).toBe(401)
    expect((await exchange(await code(), 'http://127.0.0.1:1/')).body.error).toBe('invalid_grant')
    expect((await exchange(await code(), REDIRECT, PUBLIC)).body.error).toBe('unauthorized_client')
    const late = await code()
    client.clock.turn(60_000)
    expect((await exchange(late)).body.error).toBe('invalid_grant')
  })
})
