import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { basic, DEMO, openClient, PUBLIC, type TestClient } from './client.ts'

const THIRD = basic('third:th:ird')

let client: TestClient
beforeEach(async () => {
  client = await openClient({ activities: 3, clients: [{ id: 'third', secret: 'th:ird' }] })
})
afterEach(() => client.sandbox.close())

const password = { grant_type: 'password', username: 'rider', password: 'rider' }
const refresh = (token: unknown, authorization?: string) =>
  client.token({ grant_type: 'refresh_token', refresh_token: String(token) }, authorization)
/** What the endpoint of workouts answers to an access token. */
const use = async (token: unknown) => (await client.get('/oauth/workouts', String(token))).status

describe('the token endpoint', () => {
  it('answers a password with a token response as documented', async () => {
    expect(await client.token(password)).toMatchObject({
      status: 200,
      body: {
        access_token: expect.any(String),
        expires_in: 604_800,
        token_type: 'Bearer',
        scope: 'basic',
        refresh_token: expect.any(String),
      },
    })
  })

  it('refuses a wrong password as invalid_grant and a wrong client as invalid_client', async () => {
    const wrong = await client.token({ ...password, password: 'no' })
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_grant'])
    for (const pair of ['service_public:no', 'nobody:no']) {
      const stranger = await client.token(password, basic(pair))
      expect([stranger.status, stranger.body.error]).toEqual([400, 'invalid_client'])
      expect(stranger.headers.get('www-authenticate')).toBeNull()
    }
  })

  it('refuses the refresh token of another client, which that client can still use', async () => {
    const { body } = await client.token(password, THIRD)
    for (const other of [PUBLIC, DEMO]) {
      const refused = await refresh(body.refresh_token, other)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await refresh(body.refresh_token, THIRD)).status).toBe(200)
  })

  it('ends a refresh token after two weeks, or a set time', async () => {
    const first = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await refresh(first.body.refresh_token)).body.error).toBe('invalid_grant')
    await client.steer('PATCH', 'settings', { refresh_token_seconds: 20 * 86_400 })
    const second = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await refresh(second.body.refresh_token)).status).toBe(200)
  })

  it('gives a new pair for a refresh token, once, also of two at the same time', async () => {
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

  it('ends the whole grant on reuse when set so', async () => {
    await client.steer('PATCH', 'settings', { reuse_revokes_grant: true })
    const first = await client.token(password)
    const second = await refresh(first.body.refresh_token)
    await refresh(first.body.refresh_token)
    expect((await refresh(second.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await use(second.body.access_token)).toBe(401)
  })

  it('ends tokens on request, not at a refresh: expired ones can be refreshed, revoked ones cannot', async () => {
    const first = await client.token(password)
    const second = await refresh(first.body.refresh_token)
    expect(await use(first.body.access_token)).toBe(200)
    await client.steer('POST', 'tokens/expire')
    expect(await use(second.body.access_token)).toBe(401)
    const third = await refresh(second.body.refresh_token)
    expect(await use(third.body.access_token)).toBe(200)
    await client.steer('POST', 'tokens/revoke')
    expect(await use(third.body.access_token)).toBe(401)
    expect((await refresh(third.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('answers 401 on data endpoints without a token, and serves the default workouts without one', async () => {
    for (const path of ['training_info', 'workouts', 'activity?from=0&to=1', 'activity/x', 'workout/x']) {
      const response = await fetch(`${client.sandbox.url}/oauth/${path}`)
      expect([response.status, await response.text()]).toEqual([401, ''])
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Service"')
    }
    expect((await client.get('/oauth/workout')).status).toBe(200)
  })

  it('calls a bad access token invalid, and an old one expired', async () => {
    const token = await client.signIn()
    const bad = await client.get('/oauth/workouts', 'x')
    const invalid = { error: 'invalid_token', error_description: 'The access token provided is invalid' }
    expect(bad).toMatchObject({ status: 401, body: invalid })
    expect(bad.headers.get('www-authenticate')).toContain('error="invalid_token"')
    client.clock.turn(604_800_000)
    const old = await client.get('/oauth/workouts', token)
    expect([old.status, old.body.error_description]).toEqual([401, 'The access token provided has expired'])
  })

  it('accepts an access token from the query, but not from two places, and no other scheme', async () => {
    const token = await client.signIn()
    expect((await client.get(`/oauth/workouts?access_token=${token}`)).status).toBe(200)
    expect((await client.get('/oauth/workouts?access_token=x')).body.error).toBe('invalid_token')
    expect((await client.get(`/oauth/workouts?access_token=${token}`, token)).status).toBe(400)
    const headers = { authorization: PUBLIC }
    const basicOnly = await fetch(`${client.sandbox.url}/oauth/workouts`, { headers })
    const malformed = { error: 'invalid_request', error_description: 'Malformed auth header' }
    expect([basicOnly.status, await basicOnly.json()]).toEqual([400, malformed])
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
