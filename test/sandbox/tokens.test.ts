import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { basic, openClient, PUBLIC, type TestClient } from './client.ts'

let client: TestClient
beforeEach(async () => {
  client = await openClient({ activities: 3 })
})
afterEach(() => client.sandbox.close())

const password = { grant_type: 'password', username: 'rider', password: 'rider' }
const refresh = (token: unknown) => ({ grant_type: 'refresh_token', refresh_token: String(token) })

describe('the token endpoint', () => {
  it('answers a password with a token response as documented', async () => {
    const { status, body } = await client.token(password)
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 604_800,
      token_type: 'Bearer',
      scope: 'basic',
      refresh_token: expect.any(String),
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
    const own = await openClient({ activities: 1, clients: [{ id: 'third', secret: 'th:ird' }] })
    const { body } = await own.token(password, basic('third:th:ird'))
    for (const other of [PUBLIC, basic('demo_app:demo_secret')]) {
      const refused = await own.token(refresh(body.refresh_token), other)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await own.token(refresh(body.refresh_token), basic('third:th:ird'))).status).toBe(200)
    await own.sandbox.close()
  })

  it('ends a refresh token after two weeks, or a set time', async () => {
    const first = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await client.token(refresh(first.body.refresh_token))).body.error).toBe('invalid_grant')
    await client.steer('PATCH', 'settings', { refresh_token_seconds: 20 * 86_400 })
    const second = await client.token(password)
    client.clock.turn(14 * 86_400_000)
    expect((await client.token(refresh(second.body.refresh_token))).status).toBe(200)
  })

  it('gives a new pair for a refresh token, once', async () => {
    const first = await client.token(password)
    const second = await client.token(refresh(first.body.refresh_token))
    expect(second.status).toBe(200)
    expect(second.body.access_token).not.toBe(first.body.access_token)
    expect(second.body.refresh_token).not.toBe(first.body.refresh_token)
    const again = await client.token(refresh(first.body.refresh_token))
    expect(again.status).toBe(400)
    expect(again.body).toEqual({ error: 'invalid_grant', error_description: expect.any(String) })
    const third = await client.token(refresh(second.body.refresh_token))
    expect(third.status).toBe(200)
  })

  it('refuses one of two concurrent refreshes', async () => {
    const { body } = await client.token(password)
    const both = await Promise.all([
      client.token(refresh(body.refresh_token)),
      client.token(refresh(body.refresh_token)),
    ])
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 400])
  })

  it('ends the whole grant on reuse when set so', async () => {
    await client.steer('PATCH', 'settings', { reuse_revokes_grant: true })
    const first = await client.token(password)
    const second = await client.token(refresh(first.body.refresh_token))
    await client.token(refresh(first.body.refresh_token))
    const after = await client.token(refresh(second.body.refresh_token))
    expect(after.body.error).toBe('invalid_grant')
    expect((await client.get('/oauth/workouts', String(second.body.access_token))).status).toBe(401)
  })

  it('keeps the old access token valid after a refresh until it expires', async () => {
    const first = await client.token(password)
    await client.token(refresh(first.body.refresh_token))
    const old = String(first.body.access_token)
    expect((await client.get('/oauth/workouts', old)).status).toBe(200)
    client.clock.turn(604_800_000)
    expect((await client.get('/oauth/workouts', old)).status).toBe(401)
  })

  it('ends tokens on request: expired ones can be refreshed, revoked ones cannot', async () => {
    const first = await client.token(password)
    await client.steer('POST', 'tokens/expire')
    expect((await client.get('/oauth/workouts', String(first.body.access_token))).status).toBe(401)
    const second = await client.token(refresh(first.body.refresh_token))
    expect(second.status).toBe(200)
    await client.steer('POST', 'tokens/revoke')
    expect((await client.get('/oauth/workouts', String(second.body.access_token))).status).toBe(401)
    expect((await client.token(refresh(second.body.refresh_token))).body.error).toBe('invalid_grant')
  })

  it('answers 401 on data endpoints without a token, and serves the default workouts without one', async () => {
    const bare = ['training_info', 'workouts', 'activity?from=0&to=1', 'activity/x', 'workout/x']
    for (const path of bare) {
      const response = await fetch(`${client.sandbox.url}/oauth/${path}`)
      expect([response.status, await response.text()]).toEqual([401, ''])
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Service"')
    }
    expect((await client.get('/oauth/workout')).status).toBe(200)
  })

  it('calls a bad access token invalid, and an old one expired', async () => {
    const token = await client.signIn()
    const bad = await client.get('/oauth/workouts', 'x')
    expect([bad.status, bad.body]).toEqual([
      401,
      { error: 'invalid_token', error_description: 'The access token provided is invalid' },
    ])
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
    const basicOnly = await fetch(`${client.sandbox.url}/oauth/workouts`, {
      headers: { authorization: PUBLIC },
    })
    expect([basicOnly.status, await basicOnly.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'Malformed auth header' },
    ])
  })

  it('accepts credentials percent-encoded or in the form', async () => {
    const encoded = await client.token(password, basic('service%5Fpublic:service%5Fpublic'))
    expect(encoded.status).toBe(200)
    const form = { ...password, client_id: 'service_public', client_secret: 'service_public', scope: '' }
    const response = await fetch(`${client.sandbox.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    expect(response.status).toBe(200)
  })

  it.each([
    ['+ for a space', 'p+w%26x', 'p w&x'],
    ['%20 for a space', 'p%20w', 'p w'],
    ['signs that were not escaped', '100%!@#é=+', '100%!@#é=+'],
  ])('understands a password sent with %s', async (_what, sent, meant) => {
    await client.steer('POST', 'riders', { username: 'odd', password: meant })
    const response = await fetch(`${client.sandbox.url}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: PUBLIC,
        'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      },
      body: `grant_type=password&username=odd&password=${sent}`,
    })
    expect(response.status).toBe(200)
  })
})
