import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
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
  it.each(['reset', 'cut', 'stall', 'empty'])('of the kind %s spoils one answer', async (kind) => {
    await plan({ kind })
    const spoilt = await ask('/oauth/workouts', AbortSignal.timeout(150)).catch(() => ({ text: '' }))
    expect(spoilt.text).toBe('')
    expect((await ask()).text).not.toBe('')
  })

  it('answers an upload at once, and closes the connection only after its body, so that the client reads the answer', async () => {
    await plan({ kind: 'status', status: 429, body: { error: 'slow down' } })
    const socket = connect({ port: client.sandbox.port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
    })
    const lines = ['POST /oauth/upload HTTP/1.1', 'Host: x', 'Connection: close', 'Content-Length: 4']
    socket.write(`${lines.join('\r\n')}\r\n\r\nbo`)
    await eventually(() => text.includes('slow down'))
    await client.steer('GET', 'counts')
    expect(socket.readableEnded).toBe(false)
    socket.end('dy')
    await once(socket, 'close')
  })

  it('applies only to its method and path, and can be removed', async () => {
    await plan({ kind: 'status', status: 503, method: 'GET', path: '/activity/', times: 'always' })
    const path = (await listAll(client, token))[0]?.path
    for (let i = 0; i < 3; i++) expect((await ask(`/oauth/activity/${path}`)).status).toBe(503)
    expect((await client.steer('DELETE', 'faults')).body.cleared).toBe(1)
    expect((await ask(`/oauth/activity/${path}`)).status).toBe(200)
  })

  it('of one activity damages its answer in each way, until it is repaired', async () => {
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

  it('is refused when it is misspelt', async () => {
    expect((await plan({ kind: 'explode' })).status).toBe(400)
    expect((await plan({ kind: 'reset', path: '(' })).status).toBe(400)
    expect((await plan({ kind: 'reset', tmes: 2 })).body.error).toContain('tmes')
  })
})

describe('closing', () => {
  it('ends stalled and slow answers at once', async () => {
    const own = await openClient({ activities: 1 })
    await own.steer('POST', 'faults', { kind: 'stall' })
    await own.steer('POST', 'faults', { kind: 'slow', duration_ms: 60_000 })
    const waiting = [own.get('/oauth/workout'), own.get('/oauth/workout')].map((answer) =>
      answer.catch((error: unknown) => error),
    )
    const counted = () => own.steer<{ faults: number }>('GET', 'counts')
    await eventually(async () => (await counted()).body.faults === 2, { what: 'both answers under way' })
    await own.sandbox.close()
    for (const answer of await Promise.all(waiting)) expect(answer).toBeInstanceOf(Error)
  })
})
