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
    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_grant'])
    const stranger = await client.token(password, basic('service_public:no'))
    expect([stranger.status, stranger.body.error]).toEqual([401, 'invalid_client'])
  })

  it('gives a new pair for a refresh token and never takes that token again', async () => {
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

  it('lets one of two refreshes in flight lose', async () => {
    const { body } = await client.token(password)
    const both = await Promise.all([
      client.token(refresh(body.refresh_token)),
      client.token(refresh(body.refresh_token)),
    ])
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 400])
  })

  it('ends the whole grant on reuse when told to', async () => {
    await client.steer('PATCH', 'settings', { reuse_revokes_grant: true })
    const first = await client.token(password)
    const second = await client.token(refresh(first.body.refresh_token))
    await client.token(refresh(first.body.refresh_token))
    const after = await client.token(refresh(second.body.refresh_token))
    expect(after.body.error).toBe('invalid_grant')
    expect((await client.get('/oauth/workouts', String(second.body.access_token))).status).toBe(401)
  })

  it('keeps the old access token alive after a refresh, until its time is over', async () => {
    const first = await client.token(password)
    await client.token(refresh(first.body.refresh_token))
    const old = String(first.body.access_token)
    expect((await client.get('/oauth/workouts', old)).status).toBe(200)
    client.clock.turn(604_800_000)
    expect((await client.get('/oauth/workouts', old)).status).toBe(401)
  })

  it('ends tokens when steered: expired ones can be refreshed, revoked ones cannot', async () => {
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
    for (const path of bare) expect((await client.get(`/oauth/${path}`)).status).toBe(401)
    expect((await client.get('/oauth/workout')).status).toBe(200)
  })

  it('takes credentials percent-encoded or in the form', async () => {
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
