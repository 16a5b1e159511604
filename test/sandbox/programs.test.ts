import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { openClient, PUBLIC, sendRaw, type TestClient } from './client.ts'

// Whole sessions, request by request, as programs that were written against the service hold them.

const REGISTERED = { id: 'their_public', secret: 'their_public' }

let client: TestClient
beforeEach(async () => {
  client = await openClient({ activities: 4, clients: [REGISTERED] })
})
afterEach(() => client.sandbox.close())

type Json = Record<string, unknown>

async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${client.sandbox.url}${path}`, init)
  return { status: response.status, body: JSON.parse((await response.text()) || '{}') as Json }
}

const form = 'application/x-www-form-urlencoded'
const bearer = (body: Json) => ({ authorization: `${body.token_type} ${body.access_token}` })

describe('a program that someone else wrote', () => {
  it('and that has its credentials in the form and a JSON type on each GET reads the history', async () => {
    const pair = 'client_id=their_public&client_secret=their_public'
    const login = await ask('/oauth/token', {
      method: 'POST',
      headers: { 'content-type': `${form};charset=UTF-8`, accept: 'application/json' },
      body: `grant_type=password&username=rider&password=rider&${pair}&scope=`,
    })
    expect(login.status).toBe(200)
    const headers = { ...bearer(login.body), 'content-type': 'application/json' }
    expect((await ask('/oauth/training_info', { headers })).body.success).toBe(true)
    expect((await ask('/oauth/training_info?format=', { headers })).body.success).toBe(true)
    const { activities } = (await ask('/oauth/activity?to=4102444800&from=0', { headers })).body
    expect(activities).toHaveLength(4)
    const details = (activities as Json[]).map(({ path }) =>
      ask(`/oauth/activity/${path}?include_session_data=1`, { headers }),
    )
    for (const { body } of await Promise.all(details)) {
      const [first, second] = body.session_data as Array<Record<string, number>>
      expect((second?.unix_time ?? 0) - (first?.unix_time ?? 0)).toBe(1_000)
    }
  })

  it('and that writes its Basic pair and password as they are lists the workouts and opens each', async () => {
    await client.steer('POST', 'riders', { username: 'me@example.org', password: 'p+ss%w' })
    const pair = Buffer.from('their_public:their_public').toString('base64')
    const login = await ask('/oauth/token', {
      method: 'POST',
      headers: { authorization: `Basic ${pair}`, 'content-type': form },
      body: 'grant_type=password&username=me@example.org&password=p+ss%w',
    })
    expect(login.status).toBe(200)
    const { workouts } = (await ask('/oauth/workouts', { headers: bearer(login.body) })).body
    for (const { path, sets, interval_count } of workouts as Json[]) {
      expect(Array.isArray(sets)).toBe(true)
      expect(interval_count).toBeUndefined()
      const definition = await ask(`/oauth/workout/${path}`, { headers: bearer(login.body) })
      expect(definition.body.success).toBe(true)
    }
  })

  it('and that signs in anew at a 401 gets on, with the token in the query', async () => {
    const login = (headers: Record<string, string>) =>
      ask('/oauth/token', {
        method: 'POST',
        headers,
        body: new URLSearchParams({ grant_type: 'password', username: 'rider', password: 'rider' }),
      })
    const encoded = Buffer.from('service%5Fpublic:service%5Fpublic').toString('base64')
    const first = await login({ authorization: `Basic ${encoded}` })
    await client.steer('POST', 'tokens/expire')
    const path = (token: unknown) => `/oauth/activity?from=0&to=4102444800&access_token=${token}`
    const refused = await ask(path(first.body.access_token))
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_token'])
    const second = await login({ authorization: PUBLIC })
    expect((await ask(path(second.body.access_token))).body.activities).toHaveLength(4)
  })

  it('and that sends more parts, another type and a name with signs uploads its file', async () => {
    const token = await client.signIn()
    const fit = makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 90 })
    const boundary = '18042893838469308861681692777'
    const part = (head: string, body: Uint8Array | string) =>
      Buffer.concat([
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
        Buffer.from(body),
        Buffer.from('\r\n'),
      ])
    const xml = 'name="file"; filename="ride.fit"\r\nContent-Type: application/xml'
    const body = Buffer.concat([
      part('name="data_type"', 'fit'),
      part('name="name"', "Rider's <ride> / 1 & 2"),
      part(xml, fit),
      Buffer.from(`--${boundary}--\r\n`),
    ])
    const head = [
      'POST /oauth/upload HTTP/1.1',
      'Host: sandbox',
      `Authorization: Bearer ${token}`,
      `Content-Type: multipart/form-data; boundary="${boundary}"`,
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close\r\n\r\n',
    ].join('\r\n')
    const answer = await sendRaw(client.sandbox.port, head, body)
    const json = JSON.parse(answer.slice(answer.lastIndexOf('\r\n\r\n'))) as {
      json: { files: Array<{ url: string }> }
    }
    const path = json.json.files[0]?.url.split('/').at(-1)
    const detail = await ask(`/oauth/activity/${path}`, { headers: { authorization: `Bearer ${token}` } })
    expect(detail.body.name).toBe("Rider's <ride> / 1 & 2")
  })
})
