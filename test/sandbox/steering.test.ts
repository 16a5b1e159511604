import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listAll, openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 6 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

describe('steering', () => {
  it('describes itself, and every route it describes exists', async () => {
    const { body } = await client.steer<{ routes: Array<{ method: string; path: string }> }>('GET', '')
    expect(body.routes.length).toBeGreaterThan(15)
    for (const { method, path } of body.routes) {
      const response = await fetch(`${client.sandbox.url}${path.replace(':path', 'none')}`, {
        method,
        body: null,
      })
      expect([path, response.status]).not.toEqual([path, 405])
      if (!path.includes(':path')) expect([path, response.status]).not.toEqual([path, 404])
      await response.arrayBuffer()
    }
  })

  it('counts requests by route, and tokens, from the last reset on', async () => {
    await listAll(client, token)
    const path = (await listAll(client, token))[0]?.path
    await client.get(`/oauth/activity/${path}`, token)
    const { body } = await client.steer('GET', 'counts')
    expect(body).toMatchObject({
      requests: { 'POST /oauth/token': 1, 'GET /oauth/activity': 2, 'GET /oauth/activity/:path': 1 },
      tokens: { password: 1 },
    })
    await client.steer('POST', 'counts/reset')
    expect((await client.steer('GET', 'counts')).body.requests).toEqual({})
  })

  it('adds an activity with its own fields and delay', async () => {
    const wish = { name: 'Wished', seconds: 300, summary: { xtra: 1 }, sample_delay_ms: 500 }
    const { body } = await client.steer<{ path: string }>('POST', 'activities', wish)
    const detail = () =>
      client.get<{ session_data: []; summary: object }>(
        `/oauth/activity/${body.path}?include_session_data=1`,
        token,
      )
    expect((await detail()).body.session_data).toEqual([])
    client.clock.turn(500)
    expect((await detail()).body.session_data).toHaveLength(300)
    expect((await detail()).body.summary).toMatchObject({ xtra: 1 })
  })

  it('moves the service clock: the Date header and the update times', async () => {
    await client.steer('PATCH', 'settings', { clock_skew_ms: -3_600_000 })
    const answer = await client.get('/oauth/workout')
    expect(answer.headers.get('date')).toBe('Thu, 12 Mar 2026 08:00:00 GMT')
    const added = await client.steer('POST', 'activities', {})
    expect(added.body.updated_at).toBe('2026-03-12T08:00:00.000Z')
  })

  it('delays each answer as set', async () => {
    await client.steer('PATCH', 'settings', { latency_ms: 120 })
    const started = performance.now()
    await client.get('/oauth/workout')
    expect(performance.now() - started).toBeGreaterThan(110)
  })

  it('names the wrong fields of a request', async () => {
    const wrong = await client.steer('PATCH', 'settings', { list_cap: 'x', nonsense: 1 })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error).toMatch(/list_cap[\s\S]*nonsense/)
    expect((await client.steer('PATCH', 'activities/none', {})).status).toBe(404)
  })
})
