import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listAll, openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 4 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

const plan = (fault: Record<string, unknown>) => client.steer('POST', 'faults', fault)

async function ask(path = '/oauth/workouts', signal?: AbortSignal) {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${client.sandbox.url}${path}`, { headers, ...(signal ? { signal } : {}) })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a planned failure', () => {
  it.each(['reset', 'cut', 'stall', 'empty'])('of the kind %s fails one answer', async (kind) => {
    await plan({ kind })
    const spoilt = await ask('/oauth/workouts', AbortSignal.timeout(150)).catch(() => ({ text: '' }))
    expect(spoilt.text).toBe('')
    expect((await ask()).text).not.toBe('')
  })

  it('of an activity damages its answer in each way until the activity is repaired', async () => {
    const path = (await listAll(client, token))[0]?.path
    const answer = async (broken: string | null) => {
      await client.steer('PATCH', `activities/${path}`, { broken })
      const { status, text } = await ask(`/oauth/activity/${path}`)
      return `${status} ${text.slice(0, 17)}`
    }
    const whole = await answer(null)
    expect(whole).toBe('200 {"success":true,"')
    expect(await answer('html')).toBe('200 <!doctype html><h')
    expect(await answer('500')).toBe('500 {"success":false,')
    expect(await answer('success-false')).toBe('200 {"success":false}')
    expect(await answer('no-success')).toMatch(/^200 \{"name":/)
    expect(await answer('cut')).toBe(whole)
    await expect(client.get(`/oauth/activity/${path}`, token)).rejects.toThrow(SyntaxError)
    expect(await answer(null)).toBe(whole)
  })

  it('is refused if it is misspelt', async () => {
    expect((await plan({ kind: 'explode' })).status).toBe(400)
    expect((await plan({ kind: 'reset', path: '(' })).status).toBe(400)
    expect((await plan({ kind: 'reset', tmes: 2 })).body.error).toContain('tmes')
  })
})

it('every route that the steering table lists exists', async () => {
  const { body } = await client.steer<{ routes: Array<{ method: string; path: string }> }>('GET', '')
  expect(body.routes.length).toBeGreaterThan(15)
  for (const { method, path } of body.routes) {
    const url = `${client.sandbox.url}${path.replace(':path', 'none')}`
    const { status } = await fetch(url, { method, body: null })
    expect(path.includes(':path') ? [405] : [404, 405], path).not.toContain(status)
  }
})
