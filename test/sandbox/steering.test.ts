import { afterEach, beforeEach, expect, it } from 'vitest'
import { openClient, type TestClient } from './client.ts'

let client: TestClient
beforeEach(async () => {
  client = await openClient({ activities: 6 })
})
afterEach(() => client.sandbox.close())

it('every route that steering describes exists', async () => {
  const { body } = await client.steer<{ routes: Array<{ method: string; path: string }> }>('GET', '')
  expect(body.routes.length).toBeGreaterThan(15)
  for (const { method, path } of body.routes) {
    const url = `${client.sandbox.url}${path.replace(':path', 'none')}`
    const { status } = await fetch(url, { method, body: null })
    expect(path.includes(':path') ? [405] : [404, 405], path).not.toContain(status)
  }
})

it('steering moves the clock of the service, and delays each answer as set', async () => {
  await client.steer('PATCH', 'settings', { clock_skew_ms: -3_600_000, latency_ms: 120 })
  const started = performance.now()
  const answer = await client.get('/oauth/workout')
  expect(performance.now() - started).toBeGreaterThan(110)
  expect(answer.headers.get('date')).toBe('Thu, 12 Mar 2026 08:00:00 GMT')
  const added = await client.steer('POST', 'activities', {})
  expect(added.body.updated_at).toBe('2026-03-12T08:00:00.000Z')
})
