import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { eventually } from '../kit/eventually.ts'
import { listAll, openClient, sendRaw, type TestClient } from './client.ts'

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
  it('resets the connection once, then lets requests through', async () => {
    await plan({ kind: 'reset' })
    await expect(ask()).rejects.toThrow()
    expect((await ask()).status).toBe(200)
  })

  it('answers a status with Retry-After and body, a given number of times', async () => {
    await plan({ kind: 'status', status: 429, retry_after: 7, body: { error: 'slow down' }, times: 2 })
    for (let i = 0; i < 2; i++) {
      const answer = await ask()
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7'])
      expect(JSON.parse(answer.text)).toEqual({ error: 'slow down' })
    }
    expect((await ask()).status).toBe(200)
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

  it('sends less than it announced', async () => {
    await plan({ kind: 'cut' })
    await expect(ask()).rejects.toThrow()
    await plan({ kind: 'cut' })
    const request = `GET /oauth/workout HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const raw = await sendRaw(client.sandbox.port, request)
    const announced = Number(/content-length: (\d+)/i.exec(raw)?.[1])
    const body = Buffer.byteLength(raw.slice(raw.indexOf('\r\n\r\n') + 4))
    expect(body).toBeGreaterThan(0)
    expect(body).toBeLessThan(announced)
  })

  it('answers a page with status 200, or nothing with status 200', async () => {
    await plan({ kind: 'html' })
    const page = await ask()
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    await plan({ kind: 'empty' })
    expect(await ask()).toMatchObject({ status: 200, text: '' })
  })

  it('stalls without an answer until the client gives up', async () => {
    await plan({ kind: 'stall' })
    await expect(ask('/oauth/workouts', AbortSignal.timeout(150))).rejects.toThrow(/timeout/i)
    expect((await ask()).status).toBe(200)
  })

  it('loses the answer after doing the work', async () => {
    await plan({ kind: 'lost-answer', method: 'POST', path: '^/oauth/upload$' })
    const fit = makeFitFile({ startedAt: new Date('2026-03-12T06:00:00Z'), seconds: 60 })
    await expect(client.upload(token, fit, { name: 'Lost' })).rejects.toThrow()
    expect((await listAll(client, token)).map(({ name }) => name)).toContain('Lost')
  })

  it('loses the answer to a refresh, so that the used token is dead', async () => {
    const { body } = await client.token({ grant_type: 'password', username: 'rider', password: 'rider' })
    const form = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    await plan({ kind: 'lost-answer', path: 'token' })
    await expect(client.token(form)).rejects.toThrow()
    expect((await client.token(form)).body.error).toBe('invalid_grant')
  })

  it('trickles the whole answer', async () => {
    const whole = await ask()
    await plan({ kind: 'slow', duration_ms: 120 })
    const started = performance.now()
    expect((await ask()).text).toBe(whole.text)
    expect(performance.now() - started).toBeGreaterThan(90)
  })

  it('applies only to its method and path, and can be removed', async () => {
    await plan({ kind: 'status', status: 503, method: 'GET', path: '/activity/', times: 'always' })
    const path = (await listAll(client, token))[0]?.path
    for (let i = 0; i < 3; i++) expect((await ask(`/oauth/activity/${path}`)).status).toBe(503)
    expect((await client.steer('DELETE', 'faults')).body.cleared).toBe(1)
    expect((await ask(`/oauth/activity/${path}`)).status).toBe(200)
  })

  it('has a probability', async () => {
    await plan({ kind: 'status', status: 503, times: 'always', probability: 0.5 })
    const statuses: number[] = []
    for (let i = 0; i < 40; i++) statuses.push((await ask()).status)
    expect(new Set(statuses)).toEqual(new Set([200, 503]))
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
